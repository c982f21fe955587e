"""`ls`, `show`, `history`, `result` and `watch` on a file that nobody runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace import Headrace, Pipeline, flow, receive, step
from headrace._cli.main import main


@step
async def double(number: int) -> int:
    return 2 * number


@flow(id="read-{number}")
async def read(number: int) -> list[int]:
    return [await double(one) for one in range(number)]


@flow(id="open")
async def waiting() -> str:
    return await receive("letter", str)


@flow(id="bad")
async def bad() -> None:
    raise ValueError("two\nlines")


PIPELINE = Pipeline("reading", flows=[read, waiting, bad])


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    path = tmp_path / "reading.db"
    async with Headrace([PIPELINE], store=path) as app:
        await app.run(read, 3)
        await app.start(waiting)
        failed = await app.start(bad)
        await app.engine.wait(failed.id)
    return path


def called(store: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["runs", *words, "--store", str(store)])


async def test_open_runs_are_listed_with_why_they_wait(store: Path) -> None:
    """The first question of an operator: what is going on?"""
    outcome = called(store, "ls")

    head, line = outcome.stdout.splitlines()
    assert head.split() == ["STATE", "RUN", "FLOW", "SINCE", "WHY", "WHERE"]
    assert line.split()[:3] == ["waiting", "open", "reading.waiting"]
    assert "message 'letter'" in line
    assert "test_reading.py:" in line


async def test_empty_list_says_what_there_is(store: Path) -> None:
    """An empty answer leaves people wondering whether they looked in the right place."""
    outcome = called(store, "ls", "--search", "nope")

    assert outcome.exit_code == 0
    assert outcome.stdout == ""
    assert "1 completed, 1 failed, 1 waiting" in outcome.stderr


async def test_limit_says_that_there_is_more(store: Path) -> None:
    """A list that ends in silence looks complete."""
    outcome = called(store, "ls", "--all", "--limit", "1")

    assert len(outcome.stdout.splitlines()) == 2
    assert "There are more" in outcome.stderr


async def test_show_of_a_failed_run_has_its_error(store: Path) -> None:
    """Why it failed is why one looks."""
    outcome = called(store, "show", "bad")

    assert "ValueError: two" in outcome.stdout
    assert "test_reading.py" in outcome.stdout


async def test_history_is_whole_however_long(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in pages, and none may be left out."""
    monkeypatch.setattr("headrace._cli.commands.runs.reading._PAGE", 2)

    told = called(store, "history", "read-3")
    as_json = json.loads(called(store, "history", "read-3", "--json").stdout)

    assert len(told.stdout.splitlines()) == 4
    assert [entry["value"] for entry in as_json["entries"]] == [0, 2, 4]
    assert as_json["next"] is None


async def test_result_is_json_on_standard_output(store: Path) -> None:
    """`headrace runs result ID | jq` is what a script does."""
    outcome = called(store, "result", "read-3")

    assert (outcome.exit_code, json.loads(outcome.stdout)) == (0, [0, 2, 4])


async def test_exit_code_tells_how_a_run_ended(store: Path) -> None:
    """A script must not read prose."""
    assert [called(store, "result", run).exit_code for run in ("read-3", "bad", "open")] == [0, 4, 4]


async def test_watching_what_has_ended_tells_it_all(store: Path) -> None:
    """Coming late is no reason to see less."""
    told = called(store, "watch", "read-3")
    lines = [json.loads(line) for line in called(store, "watch", "bad", "--json").stdout.splitlines()]

    assert told.exit_code == 0
    assert told.stdout.count("step double") == 3
    assert (lines[-1]["event"], lines[-1]["run"]["state"]) == ("end", "failed")


async def test_waiting_without_an_owner_is_refused(store: Path) -> None:
    """Nothing would ever happen."""
    outcome = called(store, "watch", "open")

    assert outcome.exit_code == 4
    assert "headrace up TARGET --store" in outcome.stderr
