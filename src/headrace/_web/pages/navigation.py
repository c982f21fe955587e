"""What the frame offers on every page."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    path: str
    name: str
    also: tuple[str, ...] = ()
    """Other paths that belong to it."""

    def has(self, path: str) -> bool:
        own = [one.rstrip("/") for one in (self.path, *self.also)]
        return path == self.path or any(one and (path == one or path.startswith(f"{one}/")) for one in own)


Groups = tuple[tuple[str, tuple[Place, ...]], ...]


NAVIGATION: Groups = (
    ("Work", (Place("/", "Now"), Place("/runs", "Runs"), Place("/blocked", "Blocked"), Place("/try", "Try it"))),
    (
        "Events",
        (
            Place("/events", "Events", ("/publish", "/history")),
            Place("/jobs", "Jobs"),
            Place("/subscriptions", "Subscriptions"),
            Place("/deadletters", "Dead letters"),
        ),
    ),
    ("Machine", (Place("/system", "System"),)),
)


def place_of(path: str, groups: Groups = NAVIGATION) -> str:
    """The place of the navigation to which a page belongs, the nearest one; empty where none fits."""
    fitting = [place.path for _, places in groups for place in places if place.has(path)]
    return max(fitting, key=len, default="")
