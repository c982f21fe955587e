"""What changes endpoints: asked of the owner, or done in the file when nobody owns it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from headrace._app import endpoints
from headrace._app.view import to_plain
from headrace._cli.owner import OwnerClient, owner_of
from headrace._cli.problem import NOTHING, Problem
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import change_store, load_settings, store_option
from headrace._endpoints.store import endpoint
from headrace._ports.clock import Clock
from headrace._ports.database import Database
from headrace.webhooks._sender import Sender

Change = Callable[[Database, Clock], Awaitable[Any]]


@click.command()
@click.argument("name")
@click.argument("url")
@click.option("--topic", "topics", metavar="PATTERN", multiple=True, help="Only these events: 'order.*', 'order.#'; may be given more than once.")  # fmt: skip
@click.option("--filter", default="", metavar="TEXT", help="Of those, the ones for which this is true: 'data.parcels > 1'.")  # fmt: skip
@click.option("--allow-private", is_flag=True, help="Also if the address is one of this machine or of a private network.")  # fmt: skip
@store_option
@common
def add(
    screen: Screen, name: str, url: str, topics: tuple[str, ...], filter: str, allow_private: bool, store: Path
) -> None:
    """Send events to an address, and show the secret that signs them, this once.

    Each event is a POST of CloudEvents JSON, signed as Standard Webhooks says. It begins with the next event; those
    before can be sent with `headrace events replay`. Standard output has the secret and nothing else.
    """
    chosen = topics or ("#",)
    body = {"name": name, "url": url, "topics": list(chosen), "filter": filter, "allow_private": allow_private}
    made = _change(
        store,
        lambda owner: owner.post("webhooks", body=body),
        lambda database, clock: endpoints.add_endpoint(
            database, clock, name=name, url=url, topics=chosen, filter=filter, allow_private=allow_private
        ),
        must_exist=False,
    )
    _tell_secret(screen, made, f"{name} gets events from now on. Its secret is shown this once; the receiver needs it.")


@click.command()
@click.argument("name")
@click.option("--overlap", type=click.IntRange(0, 365 * 86_400), default=86_400, show_default=True, metavar="SECONDS", help="So long the secret before signs, too.")  # fmt: skip
@store_option
@common
def rotate(screen: Screen, name: str, overlap: int, store: Path) -> None:
    """Sign with a new secret, and for a while with the one before, too.

    Standard output has the secret and nothing else.
    """
    made = _change(
        store,
        lambda owner: owner.post("webhooks", name, "rotate", body={"overlap": overlap}),
        lambda database, clock: endpoints.rotate_secret(database, clock, name, overlap=timedelta(seconds=overlap)),
    )
    until = f"the one before signs for {timedelta(seconds=overlap)} more" if overlap else "the one before signs no more"
    _tell_secret(screen, made, f"{name} has a new secret, shown this once; {until}.")


@click.command()
@click.argument("name")
@store_option
@common
def test(screen: Screen, name: str, store: Path) -> None:
    """Send a ping to an endpoint, once, and say how it went; it may be disabled."""
    tried = _change(
        store, lambda owner: owner.post("webhooks", name, "test"), lambda database, clock: _try(database, clock, name)
    )
    if screen.as_json:
        screen.give(tried)
        if not tried["ok"]:
            click.get_current_context().exit(NOTHING)
    elif tried["ok"]:
        screen.say(f"{name} answered {tried['status']}.")
    else:
        hint = "look at the address and at the other side's log, then try again"
        raise Problem(f"the ping did not arrive: {tried['error']}", code="not_delivered", hint=hint)


async def _try(database: Database, clock: Clock, name: str) -> Any:
    found = database.read(lambda reader: endpoint(reader, name))
    async with Sender(allow_private=found.allow_private) as sender:
        timeout = load_settings().settings.webhooks.timeout
        return await endpoints.try_endpoint(database, clock, name, sender, timeout=timeout)


@click.command()
@click.argument("name")
@store_option
@common
def enable(screen: Screen, name: str, store: Path) -> None:
    """Send what has come meanwhile, and go on."""
    enabled = _change(
        store,
        lambda owner: owner.post("webhooks", name, "enable"),
        lambda database, clock: endpoints.enable_endpoint(database, clock, name),
    )
    _tell(screen, enabled, f"{name} gets events again, first those that waited.")


@click.command()
@click.argument("name")
@click.option("--reason", default="", help="For people.")
@store_option
@common
def disable(screen: Screen, name: str, reason: str, store: Path) -> None:
    """Send nothing there until it is enabled; what comes meanwhile waits in the log."""
    disabled = _change(
        store,
        lambda owner: owner.post("webhooks", name, "disable", body={"reason": reason}),
        lambda database, clock: endpoints.disable_endpoint(database, clock, name, reason),
    )
    _tell(screen, disabled, f"{name} gets nothing until `headrace webhooks enable {name}`.")


@click.command()
@click.argument("name")
@store_option
@common
def rm(screen: Screen, name: str, store: Path) -> None:
    """Send nothing more there, not what waits either; its dead letters stay, dismissed."""
    removed = _change(
        store,
        lambda owner: owner.post("webhooks", name, "remove"),
        lambda database, clock: endpoints.remove_endpoint(database, clock, name),
    )
    _tell(screen, removed, f"{name} is removed.")


def _change(store: Path, ask: Callable[[OwnerClient], Any], change: Change, *, must_exist: bool = True) -> Any:
    if owner_of(store) is not None:
        return ask(OwnerClient.find(store))
    return to_plain(change_store(store, change, must_exist=must_exist))


def _tell(screen: Screen, answer: Any, text: str) -> None:
    if screen.as_json:
        screen.give(answer)
    else:
        screen.say(text)


def _tell_secret(screen: Screen, made: Any, note: str) -> None:
    if screen.as_json:
        screen.give(made)
    else:
        screen.say(made["secret"])
        screen.note(note)
