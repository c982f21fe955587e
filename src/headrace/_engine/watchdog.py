"""Finds the flow that never yields: it holds the event loop, so only another thread can tell."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable

from headrace._base import log
from headrace._engine.resident import Resident
from headrace._ports.clock import Clock

_LOOK_EVERY = 1.0
_SECONDS_BEFORE_WARNING = 2.0
_SECONDS_BEFORE_REPORT = 10.0


class Watchdog:
    """``report(run, stack)`` is called in the watchdog's thread, once for a slice that does not end."""

    def __init__(
        self, report: Callable[[Resident, str], None], clock: Clock, *, patience: float = _SECONDS_BEFORE_REPORT
    ) -> None:
        self._report = report
        self._clock = clock
        self._patience = patience
        self._run: Resident | None = None
        self._since = 0.0
        self._reported = False
        self._warned = False
        self._stopped = threading.Event()
        self._watched = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._watched = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="headrace-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def enter(self, run: Resident) -> None:
        self._since = self._clock.monotonic()
        self._run = run

    def leave(self) -> Resident | None:
        """The slice has ended after all; returns its run if it had been reported."""
        run, self._run = self._run, None
        if not self._warned:
            return None
        reported, self._warned, self._reported = self._reported, False, False
        return run if reported else None

    def _watch(self) -> None:
        while not self._stopped.wait(min(_LOOK_EVERY, self._patience / 2)):
            run, taken = self._run, self._clock.monotonic() - self._since
            if run is None or taken < min(_SECONDS_BEFORE_WARNING, self._patience):
                continue
            if not self._warned:
                self._warned = True
                log.warning(
                    "flow.holds_the_loop", run_id=run.id, flow=run.flow, seconds=round(taken, 1), stack=self._stack()
                )
            if not self._reported and taken >= self._patience:
                self._reported = True
                self._report(run, self._stack())

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._watched)
        lines = traceback.format_stack(frame) if frame is not None else []
        return "".join(lines[-5:])
