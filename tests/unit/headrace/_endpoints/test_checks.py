"""The questions of `headrace check` about endpoints: silent on a sound file, loud on each kind of damage."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from headrace import Headrace
from headrace._store.maintenance import check
from headrace._store.statements import load

QUESTIONS = load("headrace._endpoints", "checks.sql")
DAMAGE = {
    "endpoint_without_subscription": "DELETE FROM cursors",
    "endpoint_goes_on_though_disabled": "UPDATE endpoints SET disabled_at = 1",
}


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    async with Headrace([], store=path) as app:
        await app.webhooks.add("billing", "https://example.org/")
        await app.webhooks.add("audit", "https://example.org/")
        await app.webhooks.disable("audit")
    return path


def found_in(store: Path) -> set[str]:
    return {finding.check for finding in check(store, {name: QUESTIONS[name] for name in QUESTIONS}).findings}


def test_a_sound_store_has_no_findings(store: Path) -> None:
    """A false alarm makes people look away from the next one."""
    assert found_in(store) == set()


def test_every_question_is_tried() -> None:
    """One that never finds anything would be believed."""
    assert set(DAMAGE) == set(QUESTIONS)


@pytest.mark.parametrize("question", DAMAGE)
def test_damage_is_found(store: Path, question: str) -> None:
    """By the question that is there for it."""
    connection = apsw.Connection(str(store))
    connection.execute(DAMAGE[question])
    connection.close()

    assert question in found_in(store)
