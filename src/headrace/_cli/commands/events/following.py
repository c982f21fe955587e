"""``headrace events tail``: the file is read again and again, so no owner is needed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from headrace._app.event_questions import events_from, tail_of, topics_of
from headrace._app.event_view import EventView
from headrace._app.view import to_plain
from headrace._cli.commands.events.reading import NO_EVENTS, applied_of, data_of, no_event_fits, subject_of
from headrace._cli.owner import owner_of
from headrace._cli.problem import WrongUse
from headrace._cli.screen import Screen, Table, clock_time, common
from headrace._cli.store_file import open_to_look, store_option
from headrace._events.topic import check_pattern
from headrace._store.location import Location
from headrace.errors import ValueRefused

if TYPE_CHECKING:
    from headrace._store.opening import StoreReader

_SECONDS_BETWEEN_LOOKS = 0.2


@click.command()
@click.argument("pattern", default="#")
@click.option("--follow", "-f", is_flag=True, help="Go on as they come; Ctrl+C ends it.")
@click.option("--limit", type=click.IntRange(0, 100_000), default=20, show_default=True, help="Begin with so many.")
@store_option
@common
def tail(screen: Screen, pattern: str, follow: bool, limit: int, store: Location) -> None:
    """Show the newest events, the newest last; --follow goes on as they come.

    PATTERN is a topic, or stands for many: 'goal.*', 'subtitle.#'. By default it is '#', all of them.
    With --json, one event a line.
    """
    try:
        check_pattern(pattern)
    except ValueRefused as error:
        raise WrongUse(str(error)) from error
    with open_to_look(screen, store) as reader:
        listing = _Listing(screen)
        newest, position = reader.read(lambda rows: tail_of(rows, topic=pattern, count=limit))
        listing.add(newest)
        if follow:
            if not newest and not screen.as_json:
                screen.note(_waiting(store))
            _follow(reader, listing, pattern, position)
        elif not newest and limit and not screen.as_json:
            known = reader.read(topics_of)
            screen.note(no_event_fits(pattern, len(known)) if known else NO_EVENTS)


class _Listing:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._table = Table(("POSITION", "TIME", "TOPIC", "SUBJECT", "APPLIED", "DATA"))

    def add(self, events: Sequence[EventView]) -> None:
        if self._screen.as_json:
            for event in events:
                self._screen.give(to_plain(event), on_one_line=True)
        elif events:
            self._table.add([_row(event) for event in events])


def _row(event: EventView) -> tuple[str, ...]:
    when = clock_time(event.recorded_at)
    return str(event.position), when, event.topic, subject_of(event), applied_of(event), data_of(event)


def _waiting(store: Location) -> str:
    if owner_of(store) is None:
        return f"Nothing yet, and nobody runs {store}: events come when somebody does. Ctrl+C ends this."
    return "Nothing yet; waiting for the first. Ctrl+C ends this."


def _follow(reader: StoreReader, listing: _Listing, pattern: str, position: int) -> None:
    pause = threading.Event()
    try:
        while True:
            found, reached = reader.read(lambda rows: events_from(rows, position, topic=pattern))  # noqa: B023 - called at once
            listing.add(found)
            if reached == position:
                pause.wait(_SECONDS_BETWEEN_LOOKS)
            position = reached
    except KeyboardInterrupt:
        return
