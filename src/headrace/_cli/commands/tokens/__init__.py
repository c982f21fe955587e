"""``headrace tokens``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.tokens."
COMMANDS = {
    "new": (_HERE + "changing:new", "Make a token and show it, this once."),
    "ls": (_HERE + "reading:ls", "List tokens; by default those that can still be used."),
    "revoke": (_HERE + "changing:revoke", "Make a token useless, and log out whoever logged in with it."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def tokens() -> None:
    """Let others ask the server: make tokens, list them, revoke them.

    They work with or without a running owner. To change a token make a new one, then revoke the old one.
    """
