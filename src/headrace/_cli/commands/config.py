"""``headrace config``."""

from __future__ import annotations

import click

from headrace._cli.screen import Screen, common
from headrace._cli.store_file import load_settings


@click.command()
@common
def config(screen: Screen) -> None:
    """Show the effective settings and where each came from.

    Each is an environment variable; secrets are hidden.
    """
    settings = list(load_settings().each())
    if screen.as_json:
        screen.give({item.variable: {"value": item.value, "source": item.source} for item in settings})
        return
    screen.table(("SETTING", "VALUE", "FROM"), [(item.variable, item.value, item.source) for item in settings])
