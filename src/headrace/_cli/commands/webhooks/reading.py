"""``ls`` and ``show``: asked of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from headrace._app import endpoints
from headrace._app.endpoint_view import AttemptView, EndpointView
from headrace._app.view import to_plain
from headrace._base.clock import Instant, SystemClock
from headrace._cli.owner import owner_of
from headrace._cli.screen import Screen, clock_time, common
from headrace._cli.store_file import change_store, open_reader, store_option
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader

T = TypeVar("T")


@click.command()
@store_option
@common
def ls(screen: Screen, store: Path) -> None:
    """List where events are sent, and how the last attempt of each went."""
    found = _read(store, endpoints.list_endpoints)
    if screen.as_json:
        screen.give(to_plain(found))
    elif found.endpoints:
        screen.table(("STATE", "NAME", "URL", "TOPICS", "LAST ATTEMPT", "WAITING", "DEAD"), [_row(one) for one in found.endpoints])  # fmt: skip
    else:
        screen.note("Events are sent nowhere. Add an address: headrace webhooks add NAME URL")


@click.command()
@click.argument("name")
@store_option
@common
def show(screen: Screen, name: str, store: Path) -> None:
    """Show one endpoint."""
    found = _read(store, lambda reader, now: endpoints.show_endpoint(reader, name, now))
    tell_about(screen, found)


def tell_about(screen: Screen, endpoint: EndpointView) -> None:
    if screen.as_json:
        screen.give(to_plain(endpoint))
    else:
        screen.facts(_facts(endpoint))


def _read(store: Path, question: Callable[[Reader, Instant], T]) -> T:
    now = SystemClock().now()
    if owner_of(store) is not None:
        with open_reader(store) as reader:
            return reader.read(lambda rows: question(rows, now))

    async def ask(database: Database, _clock: Clock) -> T:
        return database.read(lambda reader: question(reader, now))

    # Not only read: the file may be an older one, without the table.
    return change_store(store, ask, must_exist=True)


def _row(endpoint: EndpointView) -> tuple[str, ...]:
    state = "enabled" if endpoint.enabled else "disabled"
    topics, last = ", ".join(endpoint.topics), _attempt(endpoint.last)
    return state, endpoint.name, endpoint.url, topics, last, str(endpoint.waiting), str(endpoint.dead)


def _attempt(last: AttemptView | None) -> str:
    if last is None:
        return "none yet"
    said = f"answered {last.status}" if last.status is not None else "no answer"
    return f"{'ok' if last.ok else 'failed'}, {said}, {clock_time(last.at)}"


def _facts(endpoint: EndpointView) -> list[tuple[str, str]]:
    last = endpoint.last
    return [
        ("Endpoint", endpoint.name),
        ("State", "enabled" if endpoint.enabled else f"disabled: {endpoint.reason}"),
        ("URL", endpoint.url),
        ("Topics", ", ".join(endpoint.topics)),
        ("Filter", endpoint.filter),
        ("Private", "addresses of private networks are allowed" if endpoint.allow_private else ""),
        ("Made", clock_time(endpoint.created_at)),
        ("Old secret", f"signs until {clock_time(endpoint.old_secret_until)}" if endpoint.old_secret_until else ""),
        ("Subscription", endpoint.subscription),
        ("Last", f"{_attempt(last)}: {last.topic}, event {last.event}" if last is not None else "none yet"),
        ("Error", "" if last is None else last.error),
        ("Failures", f"{endpoint.failures} in a row" if endpoint.failures else ""),
        ("Waiting", f"{endpoint.waiting} for the next attempt" if endpoint.waiting else ""),
        ("Dead", f"{endpoint.dead}; `headrace deadletters ls` lists them" if endpoint.dead else ""),
    ]
