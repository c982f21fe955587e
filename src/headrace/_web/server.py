"""uvicorn in the same event loop as the engine, on a socket of this machine only."""

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

from headrace._app.app import Headrace
from headrace._store.location import Location, PostgresUrl
from headrace._web.app import create_app
from headrace.errors import ConfigurationError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SECONDS_FOR_OPEN_REQUESTS = 2


def bind(host: str, port: int) -> socket.socket:
    """Take the address before anything else is begun; raises ``ConfigurationError`` when it cannot be had."""
    if host not in LOOPBACK:
        raise ConfigurationError(
            f"host {host!r} would let other machines in, and nothing protects the server against them yet; use 127.0.0.1"
        )
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    try:
        return socket.create_server(("127.0.0.1" if host == "localhost" else host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"port {port} is taken by another program; use another one, or --port 0 for any free one"
            ) from error
        raise ConfigurationError(f"cannot listen at {host} port {port}: {error.strerror}; use --port 0") from error


@asynccontextmanager
async def serve(app: Headrace, listening: socket.socket) -> AsyncIterator[tuple[str, Path]]:
    """Answer for a running ``Headrace`` until the end of the block; yields the address and the token's file."""
    address = _address(listening)
    with _token(app.location) as (token, file):
        server = _Server(
            uvicorn.Config(
                create_app(app, token=token),
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=_SECONDS_FOR_OPEN_REQUESTS,
                server_header=False,
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[listening]), name="headrace-http")
        await server.ready.wait()
        app.announce(address=address, token_file=str(file))
        try:
            yield address, file
        finally:
            app.announce(address=None)
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
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _token(store: Location) -> Iterator[tuple[str, Path]]:
    """A secret in a file that only this user can read: who may read the store may change it, nobody else."""
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
