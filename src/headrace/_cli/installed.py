"""Pipelines that installed packages bring along: as targets of ``up``, and with commands of their own.

A package names its pipeline in the entry points ``headrace.pipelines`` (``goals = "goals:pipeline"``), and a click group in
``headrace.commands``.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

import click

PIPELINES = "headrace.pipelines"
COMMANDS = "headrace.commands"


def pipeline_place(name: str) -> str | None:
    """``module:attribute`` of an installed pipeline; None if there is none of that name."""
    return next((point.value for point in entry_points(group=PIPELINES) if point.name == name), None)


def command(name: str) -> click.Command | None:
    """The commands of an installed pipeline, imported now."""
    point: EntryPoint | None = next((point for point in entry_points(group=COMMANDS) if point.name == name), None)
    if point is None:
        return None
    loaded: click.Command = point.load()
    return loaded
