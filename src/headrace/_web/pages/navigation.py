"""What the frame offers on every page."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    path: str
    name: str


NAVIGATION: tuple[tuple[str, tuple[Place, ...]], ...] = (
    ("Work", (Place("/", "Now"), Place("/runs", "Runs"), Place("/blocked", "Blocked"), Place("/try", "Try it"))),
    ("Machine", (Place("/system", "System"),)),
)


def place_of(path: str) -> str:
    """The place of the navigation to which a page belongs; empty where none fits."""
    places = [place.path for _, group in NAVIGATION for place in group]
    return next((place for place in places if path == place or (place != "/" and path.startswith(f"{place}/"))), "")
