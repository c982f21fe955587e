"""Scopes hold each other."""

from __future__ import annotations

from headrace._access.model import Scope


def test_each_scope_covers_those_before_it() -> None:
    """An administrator who may not look would need two tokens."""
    covered = {one.value: [other.value for other in Scope if one.covers(other)] for one in Scope}

    assert covered == {
        "read": ["read"],
        "operate": ["read", "operate"],
        "admin": ["read", "operate", "admin"],
    }
