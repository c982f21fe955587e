"""Groups whose commands are imported when they are called: help stays quick however many there are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """``commands_in`` maps a name to where its command is (``module:attribute``) and its line in the help."""

    def __init__(self, *args: Any, commands_in: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands_in = commands_in

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_in:
            return None
        module, _, attribute = self.commands_in[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.commands_in.items()])
