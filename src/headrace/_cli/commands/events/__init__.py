"""``headrace events``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.events."
COMMANDS = {
    "tail": (_HERE + "following:tail", "Show the newest events, the newest last; --follow goes on as they come."),
    "show": (_HERE + "reading:show", "Show all of one event; ID is its id or its position."),
    "history": (_HERE + "reading:history", "Show what happened to a SUBJECT, the newest first."),
    "topics": (_HERE + "reading:topics", "List the topics in the log, and how many events each has."),
    "publish": (_HERE + "changing:publish", "Append an event to the log; it is on disk when this returns."),
    "subscriptions": (_HERE + "subscriptions:subscriptions", "List who reads the log, and how far they are."),
    "pause": (_HERE + "subscriptions:pause", "Let a SUBSCRIPTION end what it does now, and begin nothing new."),
    "resume": (_HERE + "subscriptions:resume", "Let a paused SUBSCRIPTION go on where it stopped."),
    "replay": (_HERE + "subscriptions:replay", "Give a SUBSCRIPTION a range of the log once more."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def events() -> None:
    """Look at the log of events, publish, and steer who reads it.

    A topic is words split by dots; in a pattern `*` is one word and `#` any number of words.
    """
