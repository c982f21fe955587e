"""Which Headrace this is."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:
        return "(unreleased)"
