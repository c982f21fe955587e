"""Who reads the log: ``subscriptions``, and what people do to one: ``pause``, ``resume``, ``replay``."""

from __future__ import annotations

from typing import Any

import click

from headrace._base.wording import count
from headrace._cli.owner import OwnerClient
from headrace._cli.problem import WrongUse
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import open_to_look, store_option
from headrace._cli.typed_value import moment_of
from headrace._store.location import Location


@click.command()
@store_option
@common
def subscriptions(screen: Screen, store: Location) -> None:
    """List who reads the log, and how far they are.

    The owner is asked if there is one. Without it the file tells how far they are, and not what they read.
    """
    owner = OwnerClient.reach(store)
    found = _in_file(screen, store) if owner is None else owner.get("events", "subscriptions")
    if screen.as_json:
        screen.give(found)
        return
    if not found:
        screen.note("Nobody reads the log yet; a pipeline does with Pipeline(triggers=[on(TOPIC, target)]).")
        return
    head = ("STATE", "SUBSCRIPTION", "TOPICS", "TARGET", "POSITION", "BEHIND", "HELD", "DEAD")
    screen.table(head, [_row(one, owned=owner is not None) for one in found], state=0)
    for one in (one for one in found if one["trouble"]):
        screen.note(printable(f"{one['name']} waits: {one['trouble']}"))
    if owner is None:
        screen.note("Nobody runs the store, so none of them goes on; what they read is in the code.")
    if any(one["dead"] for one in found):
        screen.note("`headrace deadletters ls` shows what could not be handled.")


def _in_file(screen: Screen, store: Location) -> Any:
    from headrace._app.event_questions import subscriptions_in
    from headrace._app.view import to_plain

    with open_to_look(screen, store) as reader:
        return to_plain(reader.read(subscriptions_in))


def _row(one: Any, *, owned: bool) -> tuple[str, ...]:
    if one["paused"]:
        state = "paused"
    elif one["replay"]:
        state = "replay"
    elif one["trouble"]:
        state = "waits"
    else:
        state = "reads" if one["declared"] else "not declared" if owned else ""
    numbers = (one["position"], one["behind"], one["held"], one["dead"])
    return state, one["name"], ", ".join(one["topics"]), one["target"], *map(str, numbers)


@click.command()
@click.argument("subscription")
@store_option
@common
def pause(screen: Screen, subscription: str, store: Location) -> None:
    """Let a SUBSCRIPTION end what it does now, and begin nothing new.

    It stays so over restarts. Nothing is lost: the events wait in the log.
    """
    _switch(screen, store, subscription, "pause", "is paused; `headrace events resume` lets it go on")


@click.command()
@click.argument("subscription")
@store_option
@common
def resume(screen: Screen, subscription: str, store: Location) -> None:
    """Let a paused SUBSCRIPTION go on where it stopped."""
    _switch(screen, store, subscription, "resume", "goes on where it stopped")


def _switch(screen: Screen, store: Location, subscription: str, verb: str, what: str) -> None:
    answer = OwnerClient.find(store).post("events", "subscriptions", subscription, verb)
    if screen.as_json:
        screen.give(answer)
    else:
        screen.say(printable(f"{answer['name']} {what}"))


@click.command()
@click.argument("subscription")
@click.option("--after", type=click.IntRange(min=0), metavar="POSITION", help="What comes behind this position; 0 is all.")  # fmt: skip
@click.option("--since", metavar="TIME", help="What was recorded then or later: ISO 8601; without a zone it is UTC.")
@click.option("--until", type=click.IntRange(min=0), metavar="POSITION", help="Up to this position; by default to the end of the log.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only count them.")
@store_option
@common
def replay(
    screen: Screen,
    subscription: str,
    after: int | None,
    since: str | None,
    until: int | None,
    dry_run: bool,
    store: Location,
) -> None:
    """Give a SUBSCRIPTION a range of the log once more.

    It goes on beside the ordinary work. Functions are called again; a flow that an event has started is not started again.
    """
    if (after is None) == (since is None):
        raise WrongUse("say where to begin: --after POSITION or --since TIME", hint="--after 0 is the whole log; --dry-run only counts")  # fmt: skip
    moment = None if since is None else moment_of(since, "--since").isoformat()
    body = {"after": after, "since": moment, "until": until, "dry_run": dry_run}
    answer = OwnerClient.find(store).post("events", "subscriptions", subscription, "replay", body=body)
    if screen.as_json:
        screen.give(answer)
    else:
        events = count(answer["events"], "event")
        screen.say(printable(f"it would be {events}" if dry_run else f"{answer['name']}: {events} once more"))
