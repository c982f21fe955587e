"""The server on a real socket."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import httpx2
import pytest

from headrace import Headrace
from headrace._store.location import PostgresUrl
from headrace._store.ownership import read_owner
from headrace._web.server import _place_for_token, _token, bind, serve
from headrace.errors import ConfigurationError
from headrace.settings import read_settings
from tests.unit.headrace._web.conftest import doubled

ANY = read_settings({}, {"server.port": "0"})


async def test_it_stops_quickly_with_open_streams(app: Headrace, caplog: pytest.LogCaptureFixture) -> None:
    """Streams have no end of their own; a deployment must not wait for readers to leave."""
    async with httpx2.AsyncClient(timeout=30) as client:
        with bind("127.0.0.1", 0) as listening:
            async with serve(app, listening, ANY) as (address, _):
                streams = [client.stream("GET", f"{address}/api/runs/live") for _ in range(3)]
                answers = [await stream.__aenter__() for stream in streams]
                lines = answers[0].aiter_lines()
                assert (await anext(lines)).startswith("retry")
                await app.run(doubled, 1)
                assert await _first_of(lines, "event: run")
        for stream in streams:
            await stream.__aexit__(None, None, None)

    assert [answer.status_code for answer in answers] == [200] * 3
    assert "graceful shutdown exceeded" not in caplog.text  # what uvicorn says when its patience is over


async def _first_of(lines: object, text: str) -> bool:
    async for line in lines:  # type: ignore[attr-defined]  # an iterator of the client
        if line == text:
            return True
    return False


async def test_the_stop_is_seen_by_readers_as_an_end(app: Headrace) -> None:
    """A broken line would be an error in every log on the way; a browser comes back by itself either way."""
    async with httpx2.AsyncClient(timeout=30) as client:
        with bind("127.0.0.1", 0) as listening:
            async with serve(app, listening, ANY) as (address, _):
                opened = asyncio.ensure_future(client.get(f"{address}/api/runs/live"))
                while not app.engine.changes._listeners:
                    await asyncio.wait((opened,), timeout=0.01)
        answer = await opened

    assert answer.status_code == 200
    assert answer.text.startswith("retry")


async def test_listening_everywhere_the_command_line_asks_at_its_own_address(app: Headrace, tmp_path: Path) -> None:
    """0.0.0.0 is no address that anybody could ask."""
    with bind("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        async with serve(app, listening, read_settings({}, {"server.host": "0.0.0.0", "server.port": "0"})) as (
            address,
            token_file,
        ):
            owner = read_owner(Path(str(app.location)))
            async with httpx2.AsyncClient() as client:
                without = await client.get(f"{address}/api/status")
                headers = {"authorization": f"Bearer {token_file.read_text()}"}
                owned = await client.get(f"{address}/api/status", headers=headers)

    assert owner is not None
    assert owner.address == address == f"http://127.0.0.1:{port}"
    assert [without.status_code, owned.status_code] == [401, 200]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "::"])
def test_addresses_of_both_kinds_can_be_had(host: str) -> None:
    """Without a reason to refuse one, none is refused."""
    with bind(host, 0) as listening:
        assert listening.getsockname()[1]


def test_an_address_of_another_machine_is_refused() -> None:
    """The text says what is wrong with it."""
    with pytest.raises(ConfigurationError, match="must be one of this machine's"):
        bind("192.0.2.1", 0)


def test_a_port_that_is_taken_is_named() -> None:
    """The most frequent reason why a server does not start."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigurationError, match="is taken"):
        bind("127.0.0.1", taken.getsockname()[1])


DATABASE = PostgresUrl("postgresql://ann@host/runs")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_the_token_of_a_database_is_for_this_user_alone(runtime: Path) -> None:
    """Who can read it may change every run; a database has no folder beside it that says who that is."""
    with _token(DATABASE) as (token, file):
        modes = [path.stat().st_mode & 0o777 for path in (file.parent, file)]
        content = file.read_text()

    assert (modes, content, file.exists()) == ([0o700, 0o600], token, False)


def test_each_database_has_one_place_for_its_token(runtime: Path) -> None:
    """The owner after a crash takes away what the one before left, and no other one's."""
    others = [PostgresUrl("postgresql://ann@host/runs", "other"), PostgresUrl("postgresql://ann@host/other")]

    assert _place_for_token(DATABASE) == _place_for_token(PostgresUrl(DATABASE.secret))
    assert len({_place_for_token(place) for place in (DATABASE, *others)}) == 3


def test_a_folder_that_others_can_enter_is_refused(runtime: Path) -> None:
    """In a temporary folder anybody may have made it first."""
    folder = _place_for_token(DATABASE).parent
    folder.chmod(0o755)

    with pytest.raises(ConfigurationError, match="is not this user's alone"):
        _place_for_token(DATABASE)
