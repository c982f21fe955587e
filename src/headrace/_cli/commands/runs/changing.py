"""What is asked of the owner: ``start``, ``send``, ``cancel``, ``retry``, ``stack``."""

from __future__ import annotations

from typing import Any

import click

from headrace._cli.owner import OwnerClient
from headrace._cli.problem import WrongUse
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import open_reader, store_option
from headrace._cli.typed_value import json_of, text_of_file, value_of
from headrace._store.location import Location


@click.command()
@click.argument("flow")
@click.option(
    "--arg",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument: JSON, or plain text where that is no JSON.",
)
@click.option(
    "--input", "whole", metavar="JSON", help="All arguments as one JSON object; @FILE reads it, - takes standard input."
)
@click.option("--id", "run_id", metavar="ID", help="An id of your own; by default the flow's template gives it.")
@click.option("--policy", type=click.Choice(["join", "reject", "replace"]), default="join", show_default=True, help="What to do if the id is taken.")  # fmt: skip
@click.option("--wait", is_flag=True, help="Wait for the end and show the result.")
@store_option
@common
def start(
    screen: Screen,
    flow: str,
    pairs: tuple[str, ...],
    whole: str | None,
    run_id: str | None,
    policy: str,
    wait: bool,
    store: Location,
) -> None:
    """Start a run of FLOW, or join the one of that id.

    It is on disk when this returns. Values are JSON: --arg day='"2026-01-31"', or simply --arg day=2026-01-31;
    for text that looks like a number write --arg 'code="007"'.
    """
    arguments = {**_whole(whole), **dict(map(_pair, pairs))}
    body = {"flow": flow, "arguments": arguments, "id": run_id, "policy": policy}
    started = OwnerClient.find(store).post("runs", body=body)
    run = started["run"]
    if wait:
        if not screen.as_json:
            screen.note(_started(started))
        _wait(screen, store, run)
    elif screen.as_json:
        screen.give(started)
    else:
        screen.say(_started(started))


def _started(answer: Any) -> str:
    run = answer["run"]
    number = "" if run["number"] == 1 else f"#{run['number']}"
    how = f"joined, it is {run['state']}" if answer["joined"] else "started"
    return printable(f"{run['id']}{number} {how}")


def _wait(screen: Screen, store: Location, run: Any) -> None:
    from headrace._app.inspection import result_of
    from headrace._cli.commands.runs.following import tell_result, wait_for_end

    with open_reader(store) as reader:
        found = reader.read(lambda rows: result_of(rows, run["id"], run["number"]))
        tell_result(screen, found if found.ended else wait_for_end(reader, store, found))


def _whole(given: str | None) -> dict[str, object]:
    if given is None:
        return {}
    is_file = given == "-" or given.startswith("@")
    text = text_of_file(given.removeprefix("@"), "--input") if is_file else given
    value = json_of(text, "--input", example="""--input '{"day": "2026-01-31"}'""")
    if not isinstance(value, dict):
        raise WrongUse(f"--input is a JSON {type(value).__name__}, not an object of arguments by name")
    return value


def _pair(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise WrongUse(f"--arg {text!r} is not NAME=VALUE", hint="for example: --arg day=2026-01-31")
    return name, value_of(value, f"--arg {name}")


@click.command()
@click.argument("run")
@click.argument("topic")
@click.argument("value", required=False, default="null")
@store_option
@common
def send(screen: Screen, run: str, topic: str, value: str, store: Location) -> None:
    """Leave a message for an open RUN; it is on disk when this returns.

    VALUE is JSON, or plain text where that is no JSON.
    """
    answer = OwnerClient.find(store).post("runs", run, "send", body={"topic": topic, "value": value_of(value, "VALUE")})
    _tell(screen, answer, "has the message")


@click.command()
@click.argument("run")
@click.option("--force", is_flag=True, help="End it at once, without clean-up.")
@store_option
@common
def cancel(screen: Screen, run: str, force: bool, store: Location) -> None:
    """Ask a RUN to stop; its flow may clean up first."""
    answer = OwnerClient.find(store).post("runs", run, "cancel", body={"force": force})
    _tell(screen, answer, f"is {answer['state']}")


@click.command()
@click.argument("run")
@store_option
@common
def retry(screen: Screen, run: str, store: Location) -> None:
    """Let a blocked or quarantined RUN go on, or start a failed one again with the same input."""
    answer = OwnerClient.find(store).post("runs", run, "retry")
    _tell(screen, answer, f"is {answer['state']} again")


def _tell(screen: Screen, answer: Any, what: str) -> None:
    if screen.as_json:
        screen.give(answer)
    else:
        number = "" if answer["number"] == 1 else f"#{answer['number']}"
        screen.say(printable(f"{answer['id']}{number} {what}"))


@click.command()
@click.argument("run")
@store_option
@common
def stack(screen: Screen, run: str, store: Location) -> None:
    """Show where the code of a RUN waits, as its owner has it in memory."""
    answer = OwnerClient.find(store).get("runs", run, "stack")
    if screen.as_json:
        screen.give(answer)
    elif answer["lines"]:
        for line in answer["lines"]:
            screen.say(printable(line.rstrip()))
    else:
        screen.note(
            "This run is not in memory: it has ended, or rests until something is due. See `headrace runs show`."
        )
