"""``headrace keys``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.keys."
COMMANDS = {
    "new": (_HERE + "new:new", "Print a fresh key."),
    "rotate": (_HERE + "rotate:rotate", "Put everything in the store FILE under the first key."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def keys() -> None:
    """Make keys that encrypt a store, and change them."""
