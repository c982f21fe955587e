"""Real servers for tests, as `scripts/servers` installs them: one for all test processes, gone with the last of these.

Whoever uses a server holds a lock on a file. A keeper, which no signal to the tests reaches, looks whether anybody still
does, and takes the server away when nobody does: also after a test run that was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

_USER = "headrace"
_SECONDS_BETWEEN_LOOKS = 0.3
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # No test cuts the power under a server.
    "fsync": "off",
    "full_page_writes": "off",
    # A vacuum in the middle of a test would only make it slower.
    "autovacuum": "off",
    "log_line_prefix": "%m [%p] ",
}


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """A server on loopback, with an empty database."""

    folder: str
    port: int
    password: str

    @property
    def url(self) -> str:
        return self.url_at(self.port)

    def url_at(self, port: int) -> str:
        """The same database behind another port of this machine."""
        return f"postgresql://{_USER}:{self.password}@127.0.0.1:{port}/postgres"

    def start(self) -> None:
        settings = _SETTINGS | {"port": str(self.port), "unix_socket_directories": self.folder}
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._control("start", "-l", f"{self.folder}/log", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """``immediate`` is how a server dies; ``fast`` is how it is stopped."""
        self._control("stop", "-m", mode)

    def _control(self, *words: str) -> None:
        _run(_program("pg_ctl"), "-w", "-s", "-D", f"{self.folder}/data", *words)


def postgres_or_skip() -> None:
    """A laptop may lack a server, CI may not."""
    if _program("initdb") is not None:
        return
    reason = "Postgres is not installed here; scripts/servers does it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def shared_postgres(meeting_place: Path) -> Iterator[PostgresServer]:
    """The server that the processes of one test run share; they meet in a folder."""
    address = meeting_place / "postgres.json"
    with (meeting_place / "postgres.users").open("w") as users:
        with (meeting_place / "postgres.door").open("w") as door:
            # Who holds the lock of the users keeps it to the end, so who begins is decided by another one.
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
            if not address.exists():
                server = _begin()
                address.write_text(json.dumps(asdict(server)))
                _let_keep(users.name, address, server)
            server = PostgresServer(**json.loads(address.read_text()))
        yield server


@contextmanager
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may stop and kill."""
    with (
        tempfile.TemporaryDirectory(prefix="headrace-meeting-") as meeting_place,
        shared_postgres(Path(meeting_place)) as server,
    ):
        yield server


def _let_keep(users: str, address: Path, server: PostgresServer) -> None:
    # Without the folder of this file in the path: it has a package called `typing`.
    command = [sys.executable, "-P", __file__, users, str(address), server.folder]
    os.posix_spawn(sys.executable, command, os.environ, setsid=True)


def keep(users: str, address: str, folder: str) -> None:
    """Wait until nobody uses the server, then take it away."""
    with Path(users).open("w") as file:
        while True:
            time.sleep(_SECONDS_BETWEEN_LOOKS)  # noqa: TID251  in a process of its own
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                continue
        Path(address).unlink(missing_ok=True)
        with suppress(AssertionError):  # a test has stopped it already
            _run(_program("pg_ctl"), "-w", "-s", "-D", f"{folder}/data", "stop", "-m", "immediate")
        shutil.rmtree(folder, ignore_errors=True)


def _begin() -> PostgresServer:
    folder = tempfile.mkdtemp(prefix="headrace-postgres-")
    Path(folder).chmod(0o711)
    password = secrets.token_hex(16)
    server = PostgresServer(folder=folder, port=_free_port(), password=password)
    given = Path(folder) / "given"
    given.write_text(password)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        shutil.chown(given, "postgres")
    access = ["-U", _USER, "-A", "scram-sha-256", f"--pwfile={given}"]
    _run(_program("initdb"), "-D", f"{folder}/data", *access, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    given.unlink()
    server.start()
    return server


def _run(program: str | None, *words: str) -> None:
    assert program is not None
    # The server refuses to be root.
    as_whom = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []
    command = [*as_whom, program, *words]
    # A file, not a pipe: the server inherits it and would keep a pipe open.
    with tempfile.TemporaryFile() as said:
        ended = subprocess.run(command, cwd="/", stdout=said, stderr=said, check=False)
        said.seek(0)
        assert ended.returncode == 0, f"{program} {words}: {said.read().decode(errors='replace')}"


def _program(name: str) -> str | None:
    """Debian has the programs of the server beside each other, by version, and outside the search path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    return shutil.which(name, path=os.pathsep.join(map(str, folders))) or shutil.which(name)


def _version(folder: Path) -> float:
    match = re.match(r"[\d.]+", folder.parent.name)
    return float(match[0]) if match else 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


if __name__ == "__main__":
    keep(*sys.argv[1:])
