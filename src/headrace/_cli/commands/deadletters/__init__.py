"""``headrace deadletters``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.deadletters."
COMMANDS = {
    "ls": (_HERE + "reading:ls", "List what could not be handled, grouped by error, the newest first."),
    "show": (_HERE + "reading:show", "Show one dead letter: the event, the error, the attempts."),
    "redrive": (_HERE + "changing:redrive", "Try a dead letter again, or --all of them."),
    "dismiss": (_HERE + "changing:dismiss", "Keep a dead letter as it is, and count it no more."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def deadletters() -> None:
    """Look at events that could not be handled; try again, or let be.

    An event becomes a dead letter when the last attempt of a subscription has failed. ID is the number of the dead letter.
    """
