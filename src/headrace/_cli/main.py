"""``headrace``: the group of all commands, and the one place where their errors end."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from headrace._cli.lazy import LazyGroup
from headrace._cli.problem import INTERRUPTED, NOTHING, Problem
from headrace._cli.screen import DEBUG, Screen
from headrace.errors import HeadraceError

_HERE = "headrace._cli.commands."
COMMANDS = {
    "up": (_HERE + "up:up", "Run pipelines until stopped, and answer for them."),
    "worker": (
        _HERE + "worker:worker",
        "Handle events beside the owner of a store in Postgres, in any number of processes.",
    ),
    "runs": (_HERE + "runs:runs", "Look at runs, start them, change them."),
    "events": (_HERE + "events:events", "Look at the log of events, publish, and steer who reads it."),
    "jobs": (_HERE + "jobs:jobs", "Look at jobs and what moved them; begin them again, cancel them."),
    "deadletters": (
        _HERE + "deadletters:deadletters",
        "Look at events that could not be handled; try again, or let be.",
    ),
    "webhooks": (
        _HERE + "webhooks:webhooks",
        "Send events to other systems: add their addresses, look how it goes, steer it.",
    ),
    "tokens": (_HERE + "tokens:tokens", "Let others ask the server: make tokens, list them, revoke them."),
    "new": (_HERE + "new:new", "Make a folder with a pipeline of your own that runs at once."),
    "preflight": (_HERE + "preflight:preflight", "Say which open runs would not go on with this code."),
    "doctor": (_HERE + "doctor:doctor", "Examine this machine, the settings and the store."),
    "config": (_HERE + "config:config", "Show the effective settings and where each came from."),
    "check": (_HERE + "check:check", "Examine a store FILE, also while it is in use."),
    "keys": (_HERE + "keys:keys", "Make keys that encrypt a store, and change them."),
    "backup": (_HERE + "backup:backup", "Copy the store FILE to TARGET, also while it is in use."),
    "bench": (_HERE + "bench:bench", "Measure this disk and this machine."),
}


class _Main(LazyGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name.startswith("-"):
            return known
        # Looking through what is installed takes a while, so only a word that is no command of ours pays for it.
        from headrace._cli.installed import command

        return command(cmd_name)

    def invoke(self, ctx: click.Context) -> object:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Problem as problem:
            _fail(ctx, problem, problem.exit_code, problem.code, problem.message, problem.hint)
        except HeadraceError as error:
            from headrace._app.view import error_code

            _fail(ctx, error, NOTHING, error_code(type(error)), str(error), "")
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # Whoever read the output has enough; Python would complain once more when it closes the pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            _fail(
                ctx,
                error,
                NOTHING,
                "os_error",
                f"{place}{error.strerror or error}",
                "look at the path and its permissions",
            )
        except Exception as error:  # noqa: BLE001 - the boundary of the program: a person gets a line, not a stack trace
            message = f"{type(error).__name__}: {error}"
            _fail(ctx, error, NOTHING, "internal_error", message, "this should not happen; --debug shows where")


def _fail(ctx: click.Context, error: BaseException, exit_code: int, code: str, message: str, hint: str) -> NoReturn:
    if ctx.meta.get(DEBUG):
        raise error
    Screen.of(ctx).fail(code, message, hint)
    ctx.exit(exit_code)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib import metadata

    try:
        click.echo(metadata.version("headrace"))
    except metadata.PackageNotFoundError:
        click.echo("(unreleased)")
    ctx.exit()


@click.group(
    cls=_Main,
    commands_in=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Installed pipelines have commands of their own: headrace PIPELINE --help. Exit codes: 0 done, 2 wrong use, 3 done in part, 4 nothing could be done.",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
def main() -> None:
    """Durable pipelines in plain async Python, on one SQLite file.

    Reading needs only the store file. What changes something is asked of the process that runs it (`headrace up`).
    """
