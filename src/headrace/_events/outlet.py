"""Where events leave the log for a broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from headrace._events.model import EventRecord

Taken = Callable[[BaseException | None], None]
"""Called on the event loop: with None when the outside has the event, or with the reason why it refuses this very one."""


class Outlet(Protocol):
    def send(self, event: EventRecord, taken: Taken) -> None:
        """Hand an event over and return at once. While the outside is away nothing is answered; the event waits here."""
        ...
