"""uvicorn in the same event loop as the engine."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from headrace._app.app import Headrace
from headrace._store.location import Location, PostgresUrl
from headrace._web.admission import admission
from headrace._web.app import create_app
from headrace.errors import ConfigurationError
from headrace.settings import LoadedSettings

_SECONDS_FOR_OPEN_REQUESTS = 2
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Listening at all addresses includes this machine's own, at which the command line asks."""


def bind(host: str, port: int) -> socket.socket:
    """Take the address before anything else is begun; raises ``ConfigurationError`` when it cannot be had."""
    host = "127.0.0.1" if host == "localhost" else host
    everywhere = host == "::" and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, dualstack_ipv6=everywhere)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"port {port} is taken by another program; use another one, or --port 0 for any free one"
            ) from error
        raise ConfigurationError(
            f"cannot listen at {host} port {port}: {error.strerror}; the address must be one of this machine's"
        ) from error


@asynccontextmanager
async def serve(app: Headrace, listening: socket.socket, settings: LoadedSettings) -> AsyncIterator[tuple[str, Path]]:
    """Answer for a running ``Headrace`` until the end of the block; yields the address and the token's file."""
    address = _address(listening)
    with _token(app.location) as (token, file):
        api = create_app(app, admission(settings.settings.server, owner_token=token), settings)
        server = _Server(
            uvicorn.Config(
                api,
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=_SECONDS_FOR_OPEN_REQUESTS,
                server_header=False,
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[listening]), name="headrace-http")
        await server.ready.wait()
        api.state.lag.start()
        app.announce(address=address, token_file=str(file))
        try:
            yield address, file
        finally:
            app.announce(address=None)
            await _stop(api, server, serving)


async def _stop(api: FastAPI, server: _Server, serving: asyncio.Task[None]) -> None:
    api.state.lag.stop()
    # Streams have no end of their own, and uvicorn would wait for it.
    api.state.streams.close()
    api.state.stopping.set()
    server.should_exit = True
    await serving


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Signals are for the program that holds both, engine and server.
        yield


def _address(listening: socket.socket) -> str:
    """Where this machine's own programs ask."""
    host, port = listening.getsockname()[:2]
    host = _ANYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _token(store: Location) -> Iterator[tuple[str, Path]]:
    """A secret in a file that only this user can read: who may read the store may change it, whoever else needs a token."""
    file = _place_for_token(store)
    token = secrets.token_urlsafe(32)
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, token.encode())
    finally:
        os.close(descriptor)
    try:
        yield token, file
    finally:
        file.unlink(missing_ok=True)


def _place_for_token(store: Location) -> Path:
    """Beside the file of a store; a database is nowhere in particular, so there it is a folder of this user."""
    if not isinstance(store, PostgresUrl):
        return store.with_name(store.name + ".token")
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"headrace-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat(follow_symlinks=False)
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ConfigurationError(f"{folder} is not this user's alone; remove it, or set XDG_RUNTIME_DIR")
    # One owner a store, so that the one after a crash takes away what was left.
    name = sha256(f"{store} {store.schema}".encode()).hexdigest()[:16]
    return folder / f"{name}.token"
