"""``headrace events publish``, which is asked of the owner."""

from __future__ import annotations

from typing import Any

import click

from headrace._cli.owner import OwnerClient
from headrace._cli.problem import WrongUse
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import store_option
from headrace._cli.typed_value import json_of, text_of_file, value_of
from headrace._store.location import Location

_EXAMPLE = """--data '{"minute": 44}'"""


@click.command()
@click.argument("topic")
@click.option("--subject", metavar="SUBJECT", required=True, help="What it is about; the id of the job, if it is one.")
@click.option("--data", metavar="JSON", help="The details: JSON, or plain text where that is no JSON.")
@click.option("--data-file", metavar="FILE", help="The details as JSON in a file; - takes standard input.")
@click.option("--id", "event_id", metavar="ID", help="An id of your own: what was published under it is not published again.")  # fmt: skip
@click.option("--source", metavar="NAME", default="cli", show_default=True, help="Who says it.")
@store_option
@common
def publish(
    screen: Screen,
    topic: str,
    subject: str,
    data: str | None,
    data_file: str | None,
    event_id: str | None,
    source: str,
    store: Location,
) -> None:
    """Append an event to the log; it is on disk when this returns.

    Where a lifecycle declares the TOPIC, the subject is a job, and the event moves it in the same breath.
    """
    body = {"topic": topic, "subject": subject, "data": _data(data, data_file), "id": event_id, "source": source}
    published = OwnerClient.find(store).post("events", body=body)
    if screen.as_json:
        screen.give(published)
    else:
        screen.say(printable(_said(published)))


def _data(given: str | None, file: str | None) -> object:
    if given is not None and file is not None:
        raise WrongUse("--data and --data-file are both given; one of them is enough")
    if file is not None:
        return json_of(text_of_file(file, "--data-file"), "--data-file", example=_EXAMPLE)
    return None if given is None else value_of(given, "--data")


def _said(published: Any) -> str:
    """What has become of it: its place, and what it did to its job."""
    subject = f"{published['job']}/{published['subject']}" if published["job"] else published["subject"]
    head = f"{published['topic']} about {subject}: position {published['position']}, id {published['id']}"
    if published["duplicate"]:
        head += "; it had been published before, and nothing was done"
    elif published["applied"] is not None:
        head += "; the job has moved" if published["applied"] else f"; the job has not moved: {published['reason']}"
    return head
