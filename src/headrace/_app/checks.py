"""What `headrace check` asks of any store, of all capabilities."""

from __future__ import annotations

from collections.abc import Mapping

from headrace._ports.database import Statement
from headrace._store.statements import load

_PACKAGES = ("headrace._runs", "headrace._events", "headrace._jobs", "headrace._endpoints")


def questions() -> Mapping[str, Statement]:
    """Each must find nothing in a sound store."""
    found: dict[str, Statement] = {}
    for package in _PACKAGES:
        texts = load(package, "checks.sql")
        found |= {name: texts[name] for name in texts}
    return found
