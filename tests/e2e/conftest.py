"""Real processes: `headrace` as a user calls it, and an owner that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLOWS = """
import asyncio
from datetime import timedelta

from headrace import Pipeline, Retry, flow, receive, sleep, step


@step
async def double(number: int) -> int:
    return 2 * number


@step(retry=Retry(attempts=3, first=0.01, factor=1))
async def shaky(name: str) -> str:
    with open(name, "a+") as tries:
        tries.write("x")
        tries.seek(0)
        if len(tries.read()) < 3:
            raise OSError("no answer")
    return "at last"


@step
async def take(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "took it"


@flow(id="double-{number}")
async def doubled(number: int) -> int:
    return await double(number)


@flow(id="nap-{number}")
async def nap(number: int, seconds: float = 600) -> str:
    await double(number)
    await sleep(timedelta(seconds=seconds))
    return "slept"


@flow(id="mail-{who}")
async def mail(who: str) -> str:
    return await receive("letter", str)


@flow(id="stubborn-{name}")
async def stubborn(name: str) -> str:
    return await shaky(name)


@flow(id="bad-{number}")
async def bad(number: int) -> None:
    raise ValueError("this one fails")


@flow(id="busy-{number}")
async def busy(number: int, seconds: float) -> str:
    return await take(seconds)


pipeline = Pipeline("tried", flows=[doubled, nap, mail, stubborn, bad, busy])
"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def _listen_to_interrupts() -> None:
    """In the child: a shell that runs the tests in the background lets them, and so their children, ignore Ctrl+C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class Place:
    """A folder with a pipeline in it, where commands are typed."""

    folder: Path
    owners: list[subprocess.Popen[str]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """What is set in the environment besides what is there anyway."""

    @property
    def environment(self) -> dict[str, str]:
        given = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
        return given | self.variables

    @property
    def log(self) -> str:
        """What background commands have written to standard error."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self.folder / "log.txt"

    def run(self, *words: str, text: str | None = None) -> Outcome:
        """`headrace WORDS`, until it ends; ``text`` is its standard input."""
        command = [sys.executable, "-m", "headrace", *words]
        ran = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return Outcome(code=ran.returncode, out=ran.stdout, err=ran.stderr)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """`headrace WORDS`, in the background."""
        command = [sys.executable, "-m", "headrace", *words]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=_listen_to_interrupts,  # noqa: PLW1509 - it does one call of the system and takes no lock
            )
        self.owners.append(process)
        return process

    def until(self, is_so: Callable[[], bool]) -> None:
        """Look again and again; another process takes the time it takes."""
        for _ in range(1_000):
            if is_so():
                return
            time.sleep(0.01)
        raise AssertionError("it did not come to pass within ten seconds")

    def up(self, *words: str, target: str = "flows.py") -> tuple[subprocess.Popen[str], Any]:
        """Start an owner and wait until it says that it is up."""
        process = self.begin("up", target, "--port", "0", "--json", *words)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the owner ended with {process.wait()}"
        return process, json.loads(line)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "flows.py").write_text(FLOWS)
    here = Place(tmp_path)
    yield here
    for process in here.owners:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
