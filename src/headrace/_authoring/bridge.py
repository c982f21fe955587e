"""What ``Pipeline(bridges=[...])`` takes: a road between the log and a broker outside."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from headrace._authoring.trigger import Relay


@runtime_checkable
class Bridge(Protocol):
    @property
    def name(self) -> str:
        """What it is called in its pipeline."""
        ...

    @property
    def relay(self) -> Relay | None:
        """The subscription whose events leave over it; None when it only brings some in."""
        ...
