"""Named points at which tests make the process die; free of cost and effect when nobody armed them."""

from __future__ import annotations

from collections.abc import Callable

_armed: Callable[[str, object], None] | None = None


def arm(strike: Callable[[str], None] | None) -> None:
    """Call ``strike(name)`` at every point from now on, or never again with None."""
    watch(None if strike is None else lambda name, _subject: strike(name))


def watch(strike: Callable[[str, object], None] | None) -> None:
    """The same, with what the point is about: the step at points of steps, else None."""
    global _armed
    _armed = strike


def hit(name: str, subject: object = None) -> None:
    if _armed is not None:
        _armed(name, subject)
