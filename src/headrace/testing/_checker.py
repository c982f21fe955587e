"""Asks a second process, whose hashes have another seed, to replay what this one has run.

One process serves the whole test session; it is started when it is needed first.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace._authoring.flow import Flow
from headrace._jobs.catalogue import Catalogue
from headrace._store.location import SCHEMA, Location, PostgresUrl
from headrace.errors import HeadraceError
from headrace.testing import _checker_main
from headrace.testing._replay import Difference


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the other process found; ``unknown`` are the flows that it could not import, and why."""

    differences: list[Difference]
    unknown: dict[str, str]


class CheckerFailed(HeadraceError):
    """The process that replays runs failed itself."""


def other_hash_seed() -> str:
    return "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"


class Checker:
    """All methods block; call them in a thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()

    def ask(
        self,
        *,
        store: Location,
        flows: Mapping[str, Flow[Any, Any]],
        declared: Sequence[Mapping[str, str]],
        strict: bool,
        every: int | None,
        trusted: tuple[str, ...],
        keys: tuple[str, ...] = (),
    ) -> Answer:
        request = {
            "path": sys.path,
            "store": store.secret if isinstance(store, PostgresUrl) else str(store),
            "schema": store.schema if isinstance(store, PostgresUrl) else SCHEMA,
            "strict": strict,
            "every": every,
            "trusted": trusted,
            "declared": declared,
            "keys": keys,
            "flows": {full: _address(flow) for full, flow in flows.items()},
        }
        answer = self._exchange(json.dumps(request))
        if "failed" in answer:
            raise CheckerFailed(f"the replay check in a second process failed: {answer['failed']}")
        return Answer(
            differences=[Difference(**item) for item in answer["differences"]], unknown=dict(answer["unknown"])
        )

    def _exchange(self, line: str) -> dict[str, Any]:
        with self._one_at_a_time:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(line + "\n")
                process.stdin.flush()
                answered = process.stdout.readline()
            except BrokenPipeError:
                answered = ""
            if not answered:
                self._process = None
                process.stdin.close()
                process.stdout.close()
                raise CheckerFailed(f"the process of the replay check ended with exit code {process.wait()}")
        answer: dict[str, Any] = json.loads(answered)
        return answer

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", _checker_main.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": other_hash_seed()},
            )
            atexit.register(self.close)
        return self._process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.close)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait()


def _address(flow: Flow[Any, Any]) -> dict[str, Any]:
    module = sys.modules.get(flow.fn.__module__)
    file = getattr(module, "__file__", None)
    return {
        "module": flow.fn.__module__,
        "qualname": flow.fn.__qualname__,
        "file": None if file is None else str(Path(file).absolute()),
        "line": flow.fn.__code__.co_firstlineno,
    }


def addresses_of(catalogue: Catalogue) -> list[dict[str, str]] | None:
    """Where the declared event types and lifecycles stand, by module and name; None if one of them stands at the top of no module."""
    wanted = {id(item): item for item in (*catalogue.topics.types.values(), *catalogue.lifecycles.by_name.values())}
    found: dict[int, dict[str, str]] = {}
    for name, module in tuple(sys.modules.items()) if wanted else ():
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__":
            continue
        for attribute, value in tuple(vars(module).items()):
            if id(value) in wanted:
                found[id(value)] = {"module": name, "name": attribute, "file": str(Path(file).absolute())}
    return list(found.values()) if len(found) == len(wanted) else None


def why_not_elsewhere(flow: Flow[Any, Any]) -> str | None:
    """Why another process could not find the flow by name; None if it can."""
    if "<" in flow.fn.__qualname__:
        return "it is defined inside a function"
    if flow.fn.__module__ == "__main__":
        return "it is defined in the script that runs"
    return None if flow.fn.__module__ in sys.modules else "its module is not imported"


CHECKER = Checker()
