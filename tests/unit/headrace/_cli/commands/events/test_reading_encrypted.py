"""Events, jobs and dead letters of an encrypted store, with its key and without."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headrace import Event, Lifecycle, Pipeline, Retry, on
from headrace._base.vault import key_id, new_key
from headrace._cli.main import main
from headrace.testing import Harness

KEY = new_key()

visits: Lifecycle[Any] = Lifecycle(
    "visit",
    moves=[("visit.begun", None, "here"), ("visit.ended", "here", "gone")],
    terminal=["gone"],
    fold=lambda data, event: event.data,
)


async def refuse(event: Event[Any]) -> None:
    raise ValueError(f"not {event.data}")


PIPELINE = Pipeline("house", lifecycles=[visits], triggers=[on("visit.#", refuse, retry=Retry(attempts=1))])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "house.db"

    async def fill() -> None:
        async with Harness(PIPELINE, store=path, keys=[KEY]) as harness:
            await harness.publish("visit.begun", "a secret", subject="ann", id="v-1")
            await harness.settle()

    asyncio.run(fill())
    return path


def called(store: Path, *words: str, key: str = "") -> Result:
    environment = {"HEADRACE_STORE__PATH": str(store), "HEADRACE_STORE__KEY": key}
    return CliRunner().invoke(main, list(words), env=environment)


@pytest.mark.parametrize(
    "words",
    [
        ("events", "tail"),
        ("events", "show", "v-1"),
        ("events", "history", "ann", "--job", "visit"),
        ("jobs", "ls"),
        ("jobs", "show", "visit", "ann"),
        ("deadletters", "ls"),
        ("deadletters", "show", "1"),
    ],
    ids=" ".join,
)
def test_without_the_key_commands_show_the_rest_and_say_so(store: Path, words: tuple[str, ...]) -> None:
    """A stack trace or an empty answer would tell nobody what is missing."""
    without = called(store, *words)
    with_it = called(store, *words, key=KEY)

    assert (without.exit_code, with_it.exit_code) == (0, 0)
    assert "a secret" not in without.output
    assert f"this key was not given: {key_id(KEY)}" in without.stderr
    assert "a secret" in with_it.stdout


def test_json_says_what_is_encrypted(store: Path) -> None:
    """A program must not take the note for the value."""
    shown = json.loads(called(store, "events", "show", "v-1", "--json").stdout)

    assert shown["data"] == {"encrypted": key_id(KEY)}
    assert shown["topic"] == "visit.begun"
