"""House rules that hold while every test runs: nothing blocks the event loop, nothing reaches beyond loopback."""

from __future__ import annotations

import os
import sys
import traceback
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import blockbuster.blockbuster as detector
import pytest

from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import OwnedDatabase, open_store
from headrace.testing import harness
from tests import broker as brokers
from tests import servers

# Short reads and writes of local files are how the runtime works; what must never happen on the loop is waiting.
WAITING = (
    "time.sleep",
    "socket.socket.accept",
    "socket.socket.connect",
    "socket.socket.recv",
    "socket.socket.recv_into",
    "socket.socket.send",
    "socket.socket.sendall",
    "ssl.SSLSocket.read",
    "ssl.SSLSocket.write",
    "threading.Lock.acquire",
    "threading.Lock.acquire_lock",
    "builtins.input",
)

blocked: list[str] = []


class BlockedLoop(detector.BlockingError):
    """Also noted, because the code under test may catch it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        blocked.append(f"{self}\n{''.join(traceback.format_stack(limit=12)[:-2])}")


def _watched() -> list[detector.BlockBusterFunction]:
    known = detector.BlockBuster().functions
    no_hang = detector.BlockBusterFunction(os, "waitpid", can_block_predicate=lambda _, how: bool(how & os.WNOHANG))
    return [*(known[name] for name in WAITING), detector.BlockBusterFunction(os, "fsync"), no_hang]


@pytest.fixture(scope="session", autouse=True)
def watch() -> Iterator[list[detector.BlockBusterFunction]]:
    functions = _watched()
    original, detector.BlockingError = detector.BlockingError, BlockedLoop  # type: ignore[misc, assignment]  # read by the wrapper at each call
    for function in functions:
        function.activate()
    yield functions
    for function in functions:
        function.deactivate()
    detector.BlockingError = original  # type: ignore[misc]


@pytest.fixture(autouse=True)
def loop_stays_free(request: pytest.FixtureRequest, watch: list[detector.BlockBusterFunction]) -> Iterator[None]:
    allowed = request.node.get_closest_marker("allow_blocking") is not None
    for function in watch if allowed else ():
        function.deactivate()
    yield
    for function in watch if allowed else ():
        function.activate()
    seen = blocked.copy()
    blocked.clear()
    if seen:
        pytest.fail("the event loop was blocked:\n" + "\n".join(seen), pytrace=False)


LOOPBACK = ("127.", "::1", "localhost")
reach = {"outside": False}


def _refuse_the_outside(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect" or reach["outside"]:
        return
    address = arguments[1]
    if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
        raise PermissionError(f"a test wants to reach {address[0]}; mark it `network`, or use the stand-in")


sys.addaudithook(_refuse_the_outside)


@pytest.fixture(autouse=True)
def stay_inside(request: pytest.FixtureRequest) -> Iterator[None]:
    reach["outside"] = request.node.get_closest_marker("network") is not None
    yield
    reach["outside"] = False


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a real RabbitMQ, which all test processes share: names of exchanges and queues have to be a test's own."""
    brokers.broker_or_skip()
    folder = tmp_path_factory.getbasetemp()
    with brokers.shared_broker(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as port:
        yield port


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.PostgresServer]:
    """One server for all processes of a test run."""
    servers.postgres_or_skip()
    folder = tmp_path_factory.getbasetemp()
    with servers.shared_postgres(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def each_store(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every harness of the test works on a file, and in a second round on a database."""
    if request.param == "postgres":
        server: servers.PostgresServer = request.getfixturevalue("postgres_server")
        harness.default_store = server.url
    yield request.param
    harness.default_store = None


@pytest.fixture(params=["sqlite", "postgres"])
def each_place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A place for a store: a file, and in a second round a schema."""
    if request.param == "sqlite":
        return tmp_path / "store.db"
    place: PostgresUrl = request.getfixturevalue("postgres")
    return place


@pytest.fixture
async def each_database(each_place: Location) -> AsyncIterator[OwnedDatabase]:
    """An open store of each kind."""
    database = await open_store(each_place, durability="fast" if isinstance(each_place, Path) else "safe")
    yield database
    await database.close()


@pytest.fixture
def postgres(postgres_server: servers.PostgresServer) -> PostgresUrl:
    """A schema of its own for each test; it is made by whoever opens it first."""
    return PostgresUrl(postgres_server.url, f"test_{uuid.uuid4().hex[:12]}")
