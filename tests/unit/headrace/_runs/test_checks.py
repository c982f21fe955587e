"""The questions of `headrace check`: silent on a sound file, loud on each kind of damage."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from headrace import Headrace, Pipeline, flow, receive, step
from headrace._store.maintenance import Report, check
from headrace._store.statements import load

QUESTIONS = load("headrace._runs", "checks.sql")


@step
async def large(size: int) -> str:
    return "x" * size


@flow(id="sound-{number}")
async def sound(number: int) -> int:
    return len(await large(200_000))


@flow(id="open-{number}")
async def waiting(number: int) -> str:
    return await receive("letter", str)


PIPELINE = Pipeline("checked", flows=[sound, waiting])

DAMAGE = {
    "journal_without_run": "INSERT INTO journal VALUES (99, 1, 1, 'step', 'x', NULL, 'ok', NULL, 1, 1, 1)",
    "attempt_without_run": "INSERT INTO attempts VALUES (99, 1, 1, 'x', '{}', 1, 1, NULL)",
    "message_without_open_run": "INSERT INTO inbox (run, topic, value, at) SELECT pk, 'x', 'null', 1 FROM runs WHERE id = 'sound-1'",
    "wait_without_run": "INSERT INTO awaited VALUES (99, 1, 1)",
    "two_outcomes": "INSERT INTO journal SELECT run, seq + 50, command, kind, name, arguments, outcome, value, attempt, started_at, at FROM journal",
    "state_and_end_differ": "UPDATE runs SET state = 'running' WHERE id = 'sound-1'",
    "completed_without_result": "UPDATE runs SET result = NULL WHERE id = 'sound-1'",
    "two_open_runs_of_one_id": "UPDATE runs SET id = 'open-1', number = 7 WHERE id = 'open-2'",
    "value_gone": "DELETE FROM payloads",
}


async def stored(folder: Path) -> Path:
    path = folder / "checked.db"
    async with Headrace([PIPELINE], store=path) as app:
        await app.run(sound, 1)
        await app.start(waiting, 1)
        await app.start(waiting, 2)
        await app.send("open-2", "other", "unread")
    return path


def examined(path: Path) -> Report:
    return check(path, {name: QUESTIONS[name] for name in QUESTIONS})


async def test_sound_file_is_sound(tmp_path: Path) -> None:
    """A false alarm teaches people to look away."""
    assert examined(await stored(tmp_path)).findings == ()


@pytest.mark.parametrize("question", list(QUESTIONS))
async def test_damage_is_found(question: str, tmp_path: Path) -> None:
    """A question that never finds anything is none."""
    path = await stored(tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute(DAMAGE[question])
    connection.close()

    assert question in {finding.check for finding in examined(path).findings}
