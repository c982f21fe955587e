"""``headrace jobs``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.jobs."
COMMANDS = {
    "ls": (_HERE + "reading:ls", "List jobs, the one that moved last first."),
    "show": (_HERE + "reading:show", "Show a job: its state, what happened to it, and the runs that worked for it."),
    "retry": (_HERE + "changing:retry", "Begin a job that has ended once more, in a new generation."),
    "cancel": (_HERE + "changing:cancel", "Cancel a job and the run that works for it."),
    "diagram": (_HERE + "diagram:diagram", "Draw a LIFECYCLE of TARGET as SVG."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def jobs() -> None:
    """Look at jobs and what moved them; begin them again, cancel them.

    A job is named by its LIFECYCLE and its ID. Events are the only thing that moves it: see `headrace events publish`.
    """
