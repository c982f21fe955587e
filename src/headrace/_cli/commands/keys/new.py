"""``headrace keys new``."""

from __future__ import annotations

import click

from headrace._cli.screen import Screen, common


@click.command()
@common
def new(screen: Screen) -> None:
    """Print a fresh key.

    Keep it where HEADRACE_STORE__KEY is set from, and a copy elsewhere: without it nobody reads what it encrypted.
    """
    from headrace._base.vault import key_id, new_key

    key = new_key()
    if screen.as_json:
        screen.give({"key": key, "id": key_id(key)})
    else:
        screen.say(key)
