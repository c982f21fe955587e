"""``headrace runs``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.runs."
COMMANDS = {
    "ls": (_HERE + "reading:ls", "List runs, the newest first."),
    "show": (_HERE + "reading:show", "Show all that is known of a run."),
    "history": (_HERE + "reading:history", "Show what entered a run, in order."),
    "result": (_HERE + "following:result", "Show how a run ended."),
    "watch": (_HERE + "following:watch", "Follow a run until it ends."),
    "start": (_HERE + "changing:start", "Start a run, or join the one of that id."),
    "send": (_HERE + "changing:send", "Leave a message for an open run."),
    "cancel": (_HERE + "changing:cancel", "Ask a run to stop."),
    "retry": (_HERE + "changing:retry", "Let a blocked run go on, or start a failed one again."),
    "stack": (_HERE + "changing:stack", "Show where the code of a run waits."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def runs() -> None:
    """Look at runs, start them, change them.

    RUN is the id of a run, or `id#2` for a certain one where several have the same id.
    """
