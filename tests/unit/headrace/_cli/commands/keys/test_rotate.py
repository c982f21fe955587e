"""`headrace keys rotate`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace import Headrace, Pipeline, flow, step
from headrace._base.vault import key_id, new_key
from headrace._cli.main import main

FIRST, SECOND = new_key(), new_key()


@step
async def double(text: str) -> str:
    return 2 * text


@flow(id="doubled")
async def doubled(text: str) -> str:
    return await double(text)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"

    async def fill() -> None:
        async with Headrace([Pipeline("keys", flows=[doubled])], store=path) as app:
            await app.run(doubled, "open sesame")

    asyncio.run(fill())
    return path


def rotated(store: Path, key: str = "", old: str = "", *words: str) -> Result:
    environment = {"HEADRACE_STORE__KEY": key, "HEADRACE_STORE__OLD_KEYS": old}
    return CliRunner().invoke(main, ["keys", "rotate", str(store), *words], env=environment)


def test_it_says_what_it_did(store: Path) -> None:
    """How much there was, which key may be thrown away, and whether something is left to do."""
    first, again = rotated(store, FIRST), rotated(store, FIRST)
    second = rotated(store, SECOND, FIRST)

    assert f"4 values put under key {key_id(FIRST)}; the store was written anew" in first.stdout
    assert f"everything is under key {key_id(FIRST)} already" in again.stdout
    assert f"nothing is under {key_id(FIRST)} any more" in second.stdout
    assert b"sesame" not in store.read_bytes()


def test_programs_get_it_as_json(store: Path) -> None:
    """Rotation belongs into a script."""
    assert json.loads(rotated(store, FIRST, "", "--json").stdout) == {
        "file": str(store),
        "key": key_id(FIRST),
        "rewritten": 4,
        "forgotten": [],
        "written_anew": True,
    }


@pytest.mark.parametrize(
    "key,old,complaint",
    [
        ("", "", "no key is given"),
        ("", FIRST, "there is no first key"),
        ("swordfish", "", "HEADRACE_STORE__KEY is not"),
    ],
    ids=["no key", "only an old key", "no key at all"],
)
def test_it_needs_a_key(store: Path, key: str, old: str, complaint: str) -> None:
    """Nothing is changed before it is clear to what."""
    before = store.read_bytes()

    outcome = rotated(store, key, old)

    assert outcome.exit_code == 4
    assert complaint in outcome.output
    assert store.read_bytes() == before
