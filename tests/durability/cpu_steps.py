"""Steps that worker processes run in the tests beside this file."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from headrace._authoring.context import use
from headrace._authoring.retry import Retry
from headrace._authoring.step import step
from headrace.errors import ServiceUnavailable


class Spoiled(Exception):
    def __init__(self, crate: int) -> None:
        super().__init__(crate)
        self.crate = crate


@step(cpu=True)
def who() -> int:
    return os.getpid()


@step(cpu=True)
def turn_round(data: bytes) -> bytes:
    return data[::-1]


@step(cpu=True)
def spoil(crate: int) -> None:
    raise Spoiled(crate)


@step(cpu=True)
def exit_at_once(code: int) -> None:
    os._exit(code)


@step(cpu=True)
def die_of(number: int) -> None:
    faulthandler.disable()  # or the test's output looks like a failure
    os.kill(os.getpid(), number)
    threading.Event().wait()


@step(cpu=True)
def count_up(first: int) -> object:
    for number in range(first, 1_001):
        step.progress(number)
    return step.previous_progress()


@step(cpu=True)
def work_until_told() -> str:
    step.progress(os.getpid())
    while not step.cancelled:
        pass
    step.progress("told")
    return "stopped"


@step(cpu=True)
def never_listen() -> None:
    """Deaf, with a child."""
    child = subprocess.Popen(["tail", "-f", os.devnull])
    step.progress([os.getpid(), child.pid])
    threading.Event().wait()


@step(cpu=True)
def crash_with_a_child() -> None:
    child = subprocess.Popen(["tail", "-f", os.devnull])
    step.progress([os.getpid(), child.pid])
    os.kill(os.getpid(), signal.SIGKILL)


@step(cpu=True)
def wait_for_line(path: str) -> str:
    """Says that it has begun, then waits at a named pipe."""
    step.progress(os.getpid())
    with open(path) as pipe:  # noqa: PTH123
        return pipe.readline()


@step(cpu=True)
def look_around() -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {"stdin": sys.stdin.read(), **{name: os.environ[name] for name in names}}


@step(cpu=True)
def fork_and_return() -> int:
    """Both processes return from here; only the first may answer."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    else:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
    return os.getpid()


@step(cpu=True)
def borrow() -> None:
    use(dict)


@step(cpu=True, timeout=60, retry=Retry(attempts=2, first=0))
def listen_at_the_second_attempt() -> int:
    while step.attempt == 1 and not step.cancelled:
        threading.Event().wait(0.01)
    return step.attempt


@step(cpu=True)
def die_until_mended(folder: str) -> str:
    """Kills its process, and leaves a line for each time, until there is a file that says that all is well."""
    place = Path(folder)
    if (place / "mended").exists():
        return "well"
    with (place / "deaths").open("a") as file:
        file.write(f"{step.attempt}\n")
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@step(cpu=True, retry=Retry(attempts=2, first=0))
def die_once_then_fail_once(folder: str) -> int:
    place = Path(folder)
    with (place / "deaths").open("a") as file:
        file.write(f"{step.attempt}\n")
    lives = len((place / "deaths").read_text().splitlines())
    if lives == 1:
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGKILL)
    if lives == 2:
        raise ServiceUnavailable("for once")
    return step.attempt
