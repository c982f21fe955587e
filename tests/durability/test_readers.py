"""Other processes read, back up and ask for the owner while it writes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from headrace._base.clock import SystemClock
from headrace._ports.database import Statement, Transaction
from headrace._store.maintenance import backup
from headrace._store.ownership import read_owner
from headrace._store.sqlite import open_sqlite

CREATE = Statement("create", "CREATE TABLE pairs (pk INTEGER PRIMARY KEY, pair INTEGER NOT NULL, content BLOB)")
INSERT = Statement("insert", "INSERT INTO pairs (pair, content) VALUES (:pair, :content)")
READERS = 4
ROUNDS = 600

READER = textwrap.dedent(
    """
    import json, sys
    from headrace._ports.database import Statement
    from headrace._store.sqlite import open_sqlite_reader

    SPLIT = Statement("split", "SELECT pair FROM pairs GROUP BY pair HAVING count(*) <> 2")
    COUNT = Statement("count", "SELECT count(*) FROM pairs")
    seen = {"queries": 0, "split": 0, "backwards": 0, "errors": []}
    before = 0
    print("ready", flush=True)
    while not select_stdin():
        try:
            with open_sqlite_reader(sys.argv[1]) as reader:
                for _ in range(20):
                    split, (count,) = reader.read(lambda r: (r.all(SPLIT), r.one(COUNT)))
                    seen["queries"] += 1
                    seen["split"] += len(split)
                    seen["backwards"] += count < before
                    before = count
        except Exception as error:
            seen["errors"].append(repr(error))
    print(json.dumps(seen), flush=True)
    """
)
STDIN = (
    "import select\ndef select_stdin():\n    import sys\n    return bool(select.select([sys.stdin], [], [], 0)[0])\n"
)


def pair(number: int) -> list[dict[str, int | bytes]]:
    return [{"pair": number, "content": bytes(2_000)} for _ in range(2)]


@pytest.mark.slow
@pytest.mark.allow_blocking
async def test_nobody_is_locked_out(tmp_path: Path) -> None:
    """Pages, CLI and backups of other processes must neither fail nor disturb the owner, and must see whole transactions."""
    path = tmp_path / "store.db"
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    readers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", STDIN + READER, str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(READERS)
    ]
    for reader in readers:
        assert reader.stdout is not None
        assert await reader.stdout.readline() == b"ready\n"

    copies = asyncio.ensure_future(asyncio.to_thread(back_up_often, path, tmp_path))
    for number in range(ROUNDS):

        def write_pair(tx: Transaction, number: int = number) -> None:
            tx.run_many(INSERT, pair(number))

        await database.write(write_pair)
    owner = await asyncio.to_thread(read_owner, path)
    reports = [json.loads((await reader.communicate(b"stop\n"))[0]) for reader in readers]
    await copies
    await database.close()

    assert [report["errors"] for report in reports] == [[]] * READERS
    assert sum(report["split"] + report["backwards"] for report in reports) == 0
    assert min(report["queries"] for report in reports) > 0
    assert owner is not None


def back_up_often(path: Path, folder: Path) -> None:
    for number in range(5):
        manifest = backup(path, folder / f"copy-{number}.db", now=SystemClock().now())
        assert manifest.rows["pairs"] % 2 == 0
