"""What callers are told when the store does not do what was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from headrace import Headrace
from headrace._access.model import Scope
from headrace._app.access import make_token
from headrace._store.sqlite import SqliteDatabase, open_sqlite
from headrace.testing.disk import FakeDisk
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, PIPELINE, client_of, doubled

START = {"flow": "doubled", "arguments": {"number": 1}}


class OnFakeDisk(Headrace):
    def __init__(self, store: Path, disk: FakeDisk) -> None:
        super().__init__([PIPELINE], store=store)
        self._disk = disk

    async def _open_store(self) -> SqliteDatabase:
        assert isinstance(self.location, Path)
        return await open_sqlite(self.location, vfs=self._disk.vfs)


@pytest.fixture
def disk() -> Iterator[FakeDisk]:
    with FakeDisk() as disk:
        yield disk


@pytest.fixture
async def app(tmp_path: Path, disk: FakeDisk) -> AsyncIterator[Headrace]:
    async with OnFakeDisk(tmp_path / "web.db", disk) as running:
        await running.run(doubled, 99)
        yield running
        disk.heal()


@pytest.fixture
async def client(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app) as asking:
        yield asking


def told(answer: httpx2.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert error["message"]
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text
    return answer.status_code, error["code"]


CHANGES = [
    ("/api/runs", START, {}),
    ("/api/runs", START, {"idempotency-key": "a"}),
    ("/api/tokens", {"name": "ci"}, {}),
]


@pytest.mark.parametrize("path,body,headers", CHANGES)
async def test_a_full_disk_is_503_and_passes(
    disk: FakeDisk, client: httpx2.AsyncClient, path: str, body: object, headers: dict[str, str]
) -> None:
    """The caller may wait for space and send the same again."""
    disk.fail("write", trouble="full")
    full = await client.post(path, json=body, headers=headers)
    looked = await client.get("/api/runs")

    disk.heal()
    healed = await client.post(path, json=body, headers=headers)

    assert told(full) == (503, "store_full")
    assert looked.status_code == 200
    assert healed.status_code == 201


async def test_a_full_disk_keeps_nobody_from_looking(disk: FakeDisk, app: Headrace) -> None:
    """When a token was last used is of no importance then."""
    made = await make_token(app.database, app.clock, name="ci", scope=Scope.READ)
    disk.fail("write", trouble="full")

    async with client_of(app, token=made.token, admission=OPEN_TO_OTHERS) as holder:
        answers = [await holder.get("/api/runs") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]


async def test_a_broken_disk_is_503_for_good(disk: FakeDisk, client: httpx2.AsyncClient) -> None:
    """Nothing is accepted any more, and a supervisor can see it."""
    disk.fail("sync", trouble="broken")
    broken = await client.post("/api/runs", json=START)
    disk.heal()
    later = await client.post("/api/runs", json=START)

    assert told(broken) == (503, "store_failed")
    assert told(later)[0] == 503


PATHS = ["/api/runs", "/api/runs/double-99", "/api/runs/double-99/history", "/api/tokens", "/api/status", "/metrics"]


async def test_a_closed_store_is_503(app: Headrace, client: httpx2.AsyncClient) -> None:
    """It happens while the process stops; the next one answers."""
    await app.database.close()

    answers = [await client.get(path) for path in PATHS] + [await client.post("/api/runs", json=START)]
    async with client_of(app, token="hr_00000000_" + "0" * 48, admission=OPEN_TO_OTHERS) as holder:
        answers.append(await holder.get("/api/runs"))

    assert {told(answer) for answer in answers} == {(503, "store_error")}


async def test_a_stopped_engine_still_tells_what_was(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Changes are refused; looking helps to find out why."""
    app.engine.fail(OSError("the disk is gone"))

    looked = [await client.get(path) for path in PATHS]
    changed = [
        await client.post("/api/runs", json=START),
        await client.post("/api/runs/double-99/cancel", json={}),
        await client.post("/api/runs/double-99/retry"),
        await client.post("/api/runs/double-99/send", json={"topic": "x"}),
    ]

    assert [answer.status_code for answer in looked] == [200] * len(PATHS)
    assert {told(answer) for answer in changed} == {(503, "engine_unavailable")}
