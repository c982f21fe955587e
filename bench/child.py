"""Each system is measured in a process of its own, which does one thing at a time and answers in JSON lines."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

_SECONDS_TO_LEAVE = 20.0


class ChildDied(RuntimeError):
    """The process of a system ended before it answered."""


class Child:
    """The measuring side's end of such a process."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.module = module
        self.spawned_at = time.time()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("BENCH_VERBOSE") else subprocess.DEVNULL,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, **arguments: object) -> Any:
        """Let it do one thing, and wait for what it says of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise ChildDied(f"{self.module} ended during {command}; BENCH_VERBOSE=1 shows what it said")
        answer = json.loads(line)
        if "error" in answer:
            raise ChildDied(f"{self.module}, {command}: {answer['error']}")
        return answer["result"]

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._close()

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()

    def _close(self) -> None:
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.stop()
        else:
            self._close()


Handlers = Mapping[str, Callable[..., Awaitable[Any] | Any]]


async def serve(handlers: Handlers) -> None:
    """The other end: answer until the measuring side hangs up. What systems print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        answers.write(json.dumps(await _answer(handlers, asked)) + "\n")
        answers.flush()


async def _answer(handlers: Handlers, asked: Mapping[str, Any]) -> dict[str, Any]:
    try:
        result = handlers[asked["command"]](**asked["arguments"])
        return {"result": await result if inspect.isawaitable(result) else result}
    except Exception as error:  # noqa: BLE001 - it belongs to the other side, whatever it is
        return {"error": repr(error)}
