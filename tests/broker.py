"""A real RabbitMQ for tests, as `scripts/servers` installs it: one for all test processes, gone with the last of these.

Whoever uses it holds a lock on a file. A keeper, which no signal to the tests reaches, runs the server and looks whether anybody still
holds it: so the server goes also after a test run that was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.tree import ROOT

_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_COME = 180.0


def broker_or_skip() -> None:
    """A laptop may lack a broker, CI may not."""
    if Path("/usr/lib/rabbitmq/bin/rabbitmq-server").exists():
        return
    reason = "RabbitMQ is not installed here; scripts/servers does it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def url_at(port: int) -> str:
    return f"amqp://127.0.0.1:{port}/"


@contextmanager
def shared_broker(meeting_place: Path) -> Iterator[int]:
    """The port of the broker that the processes of one test run share; they meet in a folder."""
    address = meeting_place / "rabbitmq.json"
    with address.with_suffix(".users").open("w") as users:
        with _alone_at(address):
            if not address.exists():
                _let_keep(address)
            port: int = json.loads(address.read_text())["port"]
            fcntl.flock(users, fcntl.LOCK_SH)
        yield port


@contextmanager
def _alone_at(address: Path) -> Iterator[None]:
    """Nobody else comes or goes meanwhile."""
    with address.with_suffix(".door").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        yield


def _let_keep(address: Path) -> None:
    command = [sys.executable, "-m", "tests.broker", str(address)]
    said = str(address.with_suffix(".log"))
    into = (os.POSIX_SPAWN_OPEN, 1, said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    keeper = os.posix_spawn(
        sys.executable, command, environment, setsid=True, file_actions=[into, (os.POSIX_SPAWN_DUP2, 1, 2)]
    )
    until = time.monotonic() + _SECONDS_TO_COME  # noqa: TID251  a server has a time of its own
    while not address.exists():
        ended, _ = os.waitpid(keeper, os.WNOHANG)
        if ended or time.monotonic() > until:  # noqa: TID251
            raise ChildProcessError(f"no broker came up: {Path(said).read_text(errors='replace')}")
        time.sleep(_SECONDS_BETWEEN_LOOKS)  # noqa: TID251


def keep(address: Path) -> None:
    """Run the server until nobody uses it."""
    from bench import servers

    with (
        tempfile.TemporaryDirectory(prefix="headrace-rabbitmq-", ignore_cleanup_errors=True) as folder,
        servers.rabbitmq(Path(folder)) as port,
    ):
        # Whole at once: whoever waits for it reads it as soon as it is there.
        draft = address.with_suffix(".draft")
        draft.write_text(json.dumps({"port": port}))
        draft.rename(address)
        while not _is_left(address):
            time.sleep(_SECONDS_BETWEEN_LOOKS)  # noqa: TID251  in a process of its own


def _is_left(address: Path) -> bool:
    """Whether nobody uses the server any more; then the next one who comes begins another."""
    if not address.parent.exists():
        return True
    with address.with_suffix(".users").open("w") as users, _alone_at(address):
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        address.unlink(missing_ok=True)
        return True


class OwnBroker:
    """A broker that a test may stop and start again; it keeps its messages."""

    def __init__(self, folder: Path, settings: str) -> None:
        self._folder = folder
        self._settings = settings
        self._stack = ExitStack()
        self.port: int | None = None

    @property
    def url(self) -> str:
        assert self.port is not None
        return url_at(self.port)

    def start(self) -> None:
        from bench import servers

        self.port = self._stack.enter_context(servers.rabbitmq(self._folder, port=self.port, settings=self._settings))

    def stop(self) -> None:
        self._stack.close()


@contextmanager
def own_broker(settings: str = "") -> Iterator[OwnBroker]:
    with tempfile.TemporaryDirectory(prefix="headrace-rabbitmq-", ignore_cleanup_errors=True) as folder:
        broker = OwnBroker(Path(folder), settings)
        try:
            yield broker
        finally:
            broker.stop()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
