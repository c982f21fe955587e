"""A store with a key: nothing of any value stands in its files, and whatever happens to it, values are right or refused."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from headrace import Headrace, Pipeline, Retry, flow, receive, sleep, step
from headrace._app.inspection import detail_of, history_of
from headrace._app.keys import PLACES
from headrace._base.vault import Vault, new_key
from headrace._store.maintenance import backup, check
from headrace._store.sqlite import open_sqlite_reader
from headrace.errors import KeyMissing, RunFailed, StoreCorrupt
from headrace.testing import Harness, check_invariants, kill_environment

KEY, OTHER = new_key(), new_key()
TREASURE = "the crown jewels"
NOON = 1_700_000_000_000_000


@step
async def repeat(text: str, times: int = 1) -> str:
    return text * times


@step(retry=Retry(attempts=2, first=3600))
async def refuse(text: str) -> None:
    step.progress({"said": text})
    raise LookupError(f"no {text} here")


@flow
async def child(text: str) -> str:
    return await repeat(text)


@flow
async def story(text: str) -> str:
    heard = await receive("letter", str)
    long = await repeat(heard, 20_000)
    return await child(long[: len(text)])


@flow
async def fails(text: str) -> None:
    await repeat(text)
    raise ValueError(f"what about {text}?")


@flow
async def tries(text: str) -> None:
    await refuse(text)


@flow
async def naps(text: str) -> str:
    await sleep(timedelta(hours=1))
    return await repeat(text, 1_000)


PIPELINE = Pipeline("encrypted", flows=[child, story, fails, tries, naps])


async def tell_everything(app: Headrace) -> None:
    """Let the secret into every kind of value that there is."""
    run = await app.start_as(story, "story", "join", TREASURE)
    await run.send("letter", TREASURE)
    assert await run.result() == TREASURE
    failing = await app.start_as(fails, "fails", "join", TREASURE)
    with pytest.raises(RunFailed, match=TREASURE):
        await failing.result()
    napping = await app.start_as(naps, "naps", "join", TREASURE)
    await napping.send("unread", TREASURE)
    await app.start_as(tries, "tries", "join", TREASURE)
    app.engine.incident(app.engine._memory.by_id["naps"], "test.noted", f"about {TREASURE}")
    while not app.database.read(lambda reader: detail_of(reader, "tries")).retrying:
        await asyncio.to_thread(lambda: None)
    await app.database.write(lambda tx: None)


def files_of(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name)}


def where_it_stands(path: Path) -> list[str]:
    return [name for name, content in files_of(path).items() if TREASURE.encode() in content]


@pytest.mark.allow_blocking
@pytest.mark.parametrize("keys", [(), (KEY,)], ids=["plain", "encrypted"])
async def test_no_file_has_a_value_in_the_open(tmp_path: Path, keys: tuple[str, ...]) -> None:
    """Neither the file nor its log, neither in use nor after a kill nor after an orderly end. Without a key they have."""
    path = tmp_path / "store.db"
    app = Headrace([PIPELINE], store=path, keys=keys)
    async with app:
        await tell_everything(app)
        while_up = where_it_stands(path)
        app.engine.kill()
        after_the_kill = where_it_stands(path)
    async with Headrace([PIPELINE], store=path, keys=keys):
        pass
    after_the_end = where_it_stands(path)

    assert (bool(while_up), bool(after_the_kill), bool(after_the_end)) == ((False,) * 3 if keys else (True,) * 3)
    assert check_invariants(path, keys) == []
    assert {"runs", "journal", "attempts", "progress", "inbox", "incidents", "payloads"} <= tables_with_rows(path)


def tables_with_rows(path: Path) -> set[str]:
    return {table for table, count in check(path).rows.items() if count}


async def test_values_are_as_readable_as_ever_with_the_key(tmp_path: Path) -> None:
    """Encryption that changes what a flow, a person or a program sees would be of no use."""
    path = tmp_path / "store.db"
    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        await tell_everything(app)

    with open_sqlite_reader(path, vault=Vault([KEY])) as reader:
        story_, naps_, tries_, fails_ = (
            reader.read(lambda rows, name=name: detail_of(rows, name))  # type: ignore[misc]
            for name in ("story", "naps", "tries", "fails")
        )
        told = reader.read(lambda rows: history_of(rows, "story"))
    assert (story_.input, story_.result) == ({"text": TREASURE}, TREASURE)
    assert [message.value for message in naps_.messages] == [TREASURE]
    assert [incident.detail for incident in naps_.incidents] == [f"about {TREASURE}"]
    assert [attempt.error.message for attempt in tries_.retrying] == [f"no {TREASURE} here"]
    assert [item.value for item in tries_.progress] == [{"said": TREASURE}]
    assert TREASURE in fails_.run.reason
    assert [entry.value for entry in told.entries if entry.name == "letter"] == [TREASURE]
    assert TREASURE * 20_000 in [entry.value for entry in told.entries]


async def test_without_the_key_is_seen_what_is_not_encrypted(tmp_path: Path) -> None:
    """What runs there are and what they wait for is needed to help with a store that one may not read."""
    path = tmp_path / "store.db"
    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        await tell_everything(app)

    with open_sqlite_reader(path, vault=Vault(veil=True)) as reader:
        details = [
            reader.read(lambda rows, name=name: detail_of(rows, name))  # type: ignore[misc]
            for name in ("story", "naps", "tries", "fails")
        ]
        told = [
            reader.read(lambda rows, name=name: history_of(rows, name))  # type: ignore[misc]
            for name in ("story", "fails", "tries")
        ]
    assert TREASURE not in repr(details) + repr(told)
    assert [detail.run.state for detail in details] == ["completed", "waiting", "waiting", "failed"]
    assert [detail.run.reason for detail in details[1:3]] == ["timer", "retry of step 'refuse', attempt 2"]
    assert details[3].run.reason == "(encrypted)"
    assert details[3].error is not None
    assert details[3].error.short == "(encrypted)"
    assert [entry.name for entry in told[0].entries][:2] == ["letter", "repeat"]


async def test_without_the_key_nothing_is_run(tmp_path: Path) -> None:
    """New values would stand in the open beside the encrypted ones, and old ones would fail in the middle of a run."""
    path = tmp_path / "store.db"
    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        await app.start_as(naps, "naps", "join", TREASURE)
    before = files_of(path)

    for keys in ([], [OTHER]):
        with pytest.raises(KeyMissing):
            async with Headrace([PIPELINE], store=path, keys=keys):
                pass

    assert files_of(path)["store.db"] == before["store.db"]
    async with Headrace([PIPELINE], store=path, keys=[OTHER, KEY]) as app:
        assert (await app.get("naps")).state == "waiting"


async def test_a_store_goes_on_with_a_key_that_it_got_later(tmp_path: Path) -> None:
    """Its open runs were begun in the open and end encrypted."""
    path = tmp_path / "store.db"
    async with Headrace([PIPELINE], store=path) as app:
        run = await app.start_as(story, "story", "join", "before")
        await run.send("other", "before")

    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        again = app.handle("story")
        await again.send("letter", TREASURE)
        assert await again.result() == TREASURE[:6]

    assert where_it_stands(path) == []
    assert check_invariants(path, [KEY]) == []


async def test_runs_are_replayed_in_another_process_with_the_key() -> None:
    """The harness must check encrypted runs as it checks all others, and hand the key over without showing it."""
    async with Harness(PIPELINE, keys=[KEY], replay_prefixes=True) as harness:
        run = await harness.start(story, TREASURE)
        await run.send("letter", TREASURE)
        assert await run.result() == TREASURE
        await harness.crash()
        assert await harness.run(naps, TREASURE) == TREASURE * 1_000

    assert set(harness.replays.elsewhere) == {"encrypted.story", "encrypted.child", "encrypted.naps"}


FLIP = "UPDATE journal SET value = CAST(substr(value, 1, 20) || x'00' || substr(value, 22) AS BLOB) WHERE run = 1 AND value IS NOT NULL"


async def damaged(path: Path) -> None:
    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        run = await app.start_as(story, "story", "join", TREASURE)
        await run.send("letter", TREASURE)
        await run.result()
        await app.start_as(naps, "naps", "join", TREASURE)
    connection = apsw.Connection(str(path))
    connection.execute(FLIP)
    connection.execute("UPDATE runs SET input = CAST(input || x'00' AS BLOB) WHERE id = 'naps'")
    connection.close()


async def test_a_damaged_value_is_refused_by_the_name_of_its_run(tmp_path: Path) -> None:
    """A changed fact that enters a flow is worse than a flow that stands still."""
    path = tmp_path / "store.db"
    await damaged(path)

    with open_sqlite_reader(path, vault=Vault([KEY])) as reader:
        with pytest.raises(StoreCorrupt, match=r"run 'story' #1, row 1 of its journal: "):
            reader.read(lambda rows: history_of(rows, "story"))
        with pytest.raises(StoreCorrupt, match=r"run 'naps' #1: "):
            reader.read(lambda rows: detail_of(rows, "naps"))
    with pytest.raises(StoreCorrupt, match="run 'naps' #1"):
        async with Headrace([PIPELINE], store=path, keys=[KEY]):
            pass


async def test_the_engine_stops_at_a_damaged_value(tmp_path: Path) -> None:
    """As at a damaged page: whoever asks is told which run it is."""
    path = tmp_path / "store.db"
    await damaged(path)

    async with Headrace([PIPELINE], store=path, keys=[KEY], preflight="off") as app:
        await app.send("naps", "wake up")
        await app.engine.failed
        assert app.failure is not None
        assert "run 'naps' #1" in app.failure


async def test_check_finds_damaged_values_and_counts_those_it_cannot_open(tmp_path: Path) -> None:
    """Without the key a check can say nothing of values, and must not look as if it had."""
    path = tmp_path / "store.db"
    await damaged(path)

    with_the_key = check(path, places=PLACES, vault=Vault([KEY]))
    without = check(path, places=PLACES)

    assert [finding.detail.partition(":")[0] for finding in with_the_key.findings] == [
        "runs (pk 3) input",
        *(f"journal (run 1, seq {seq}) value" for seq in (1, 3, 4)),  # the second was put aside
    ]
    assert with_the_key.unopened == 0
    assert without.sound
    assert without.unopened > 8


async def test_a_backup_of_an_encrypted_store_is_encrypted_too(tmp_path: Path) -> None:
    """Backups go to places that the store never sees."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        await tell_everything(app)
        await asyncio.to_thread(backup, path, copy, now=NOON)

    assert where_it_stands(copy) == []
    assert check_invariants(copy, [KEY]) == []
    with pytest.raises(KeyMissing):
        open_sqlite_reader(copy)


ROTATE = """
import sys
from headrace._cli.main import main
from headrace.testing.faults import arm_from_environment

with arm_from_environment():
    main(["keys", "rotate", sys.argv[1], "--json"])
"""


def rotate(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {"HEADRACE_STORE__KEY": OTHER, "HEADRACE_STORE__OLD_KEYS": KEY}
    return subprocess.run(
        [sys.executable, "-c", ROTATE, str(path)],
        env={**os.environ, **settings, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.e2e
@pytest.mark.allow_blocking
async def test_a_killed_rotation_goes_on_where_it_was(tmp_path: Path) -> None:
    """A real process, a real kill: after each, every value is under one of the two keys, and at the end under the new one."""
    path = tmp_path / "store.db"
    async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
        await tell_everything(app)
        assert "store_owned" in rotate(path).stdout

    for commit in (1, 2, 4, 7, 10):
        killed = rotate(path, **kill_environment("store.after_commit", commit))
        assert killed.returncode == -9
        assert check_invariants(path, [KEY, OTHER]) == []
    done = rotate(path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr
    assert OTHER not in done.stdout + done.stderr
    assert check(path, places=PLACES, vault=Vault([OTHER])).unopened == 0
    assert check_invariants(path, [OTHER]) == []
    async with Headrace([PIPELINE], store=path, keys=[OTHER]) as app:
        assert (await app.get("naps")).state == "waiting"
