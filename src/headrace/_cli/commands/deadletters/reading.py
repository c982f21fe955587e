"""What needs only the file: ``ls`` and ``show``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from headrace._app.event_questions import dead_letter_of, page_of_dead_letters
from headrace._app.event_view import PlainDeadLetter
from headrace._app.view import to_plain
from headrace._base.clock import SystemClock, to_datetime
from headrace._cli.commands.events.reading import data_of, subject_of
from headrace._cli.commands.runs.reading import error_text
from headrace._cli.screen import Screen, ago, clock_time, common
from headrace._cli.store_file import open_to_look, store_option
from headrace._store.location import Location

_IDS_SHOWN = 8


@click.command()
@click.option("--subscription", metavar="NAME", help="Only of this subscription.")
@click.option("--all", "also_settled", is_flag=True, help="Also what was handled or dismissed since.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True, help="Look at so many at most.")  # fmt: skip
@store_option
@common
def ls(screen: Screen, subscription: str | None, also_settled: bool, limit: int, store: Location) -> None:
    """List what could not be handled, grouped by error, the newest first.

    With --json, each dead letter by itself.
    """
    state = None if also_settled else "dead"
    with open_to_look(screen, store) as reader:
        page = reader.read(lambda rows: page_of_dead_letters(rows, subscription=subscription, state=state, count=limit))
    if screen.as_json:
        screen.give(to_plain(page))
    elif page.letters:
        now = to_datetime(SystemClock().now())
        rows = [_row(group, now) for group in grouped(page.letters)]
        screen.table(("STATE", "COUNT", "SUBSCRIPTION", "ERROR", "NEWEST", "IDS"), rows, state=0)
        screen.note(_hint(page.letters, limit if page.next is not None else None))
    else:
        where = f" of {subscription}" if subscription else ""
        screen.note(f"There are no dead letters{where}." + ("" if also_settled else " --all shows those of the past."))


def grouped(letters: Sequence[PlainDeadLetter]) -> list[list[PlainDeadLetter]]:
    """Those of one subscription that failed in one way; their messages may differ, since most name what they are about."""
    groups: dict[tuple[str, str, str], list[PlainDeadLetter]] = {}
    for letter in letters:
        groups.setdefault((letter.state, letter.subscription, letter.error.type), []).append(letter)
    return list(groups.values())


def _row(group: list[PlainDeadLetter], now: datetime) -> tuple[str, ...]:
    newest = group[0]
    ids = ", ".join(str(letter.id) for letter in group[:_IDS_SHOWN])
    more = f" and {len(group) - _IDS_SHOWN} more" if len(group) > _IDS_SHOWN else ""
    when = f"{ago(newest.at, now)} ago"
    return newest.state, str(len(group)), newest.subscription, newest.error.short, when, ids + more


def _hint(letters: Sequence[PlainDeadLetter], limit: int | None) -> str:
    more = "" if limit is None else f"There are more; --limit {limit * 10} looks at them. "
    if any(letter.state == "dead" for letter in letters):
        return more + "`headrace deadletters show ID` has the whole error, `redrive ID` or `redrive --all` tries again."
    return more + "`headrace deadletters show ID` has the whole error."


@click.command()
@click.argument("letter", metavar="ID", type=click.IntRange(min=1))
@store_option
@common
def show(screen: Screen, letter: int, store: Location) -> None:
    """Show one dead letter: the event, the error, the attempts."""
    with open_to_look(screen, store) as reader:
        found = reader.read(lambda rows: dead_letter_of(rows, letter))
    if screen.as_json:
        screen.give(to_plain(found))
    else:
        screen.facts(_facts(found))


def _facts(letter: PlainDeadLetter) -> list[tuple[str, str]]:
    event, first, last = letter.event, clock_time(letter.first_at), clock_time(letter.at)
    return [
        ("Dead letter", str(letter.id)),
        ("State", letter.state),
        ("Subscription", letter.subscription),
        ("Event", f"{event.topic} about {subject_of(event)}, position {event.position}, id {event.id}"),
        ("Data", data_of(event)),
        ("Attempts", str(letter.attempts)),
        ("Dead since", first),
        ("Changed", last if last != first else ""),
        ("Redriven", clock_time(letter.redriven_at)),
        ("Error", error_text(letter.error)),
    ]
