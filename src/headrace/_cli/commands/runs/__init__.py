"""``headrace runs``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.runs."
COMMANDS = {
    "ls": (_HERE + "reading:ls", "List runs, the newest first; by default those that are open."),
    "show": (_HERE + "reading:show", "Show all that is known of a RUN, but its history."),
    "history": (
        _HERE + "reading:history",
        "Show what entered a RUN, in order, with all attempts and how long each took.",
    ),
    "result": (_HERE + "following:result", "Show how a RUN ended: what its flow returned, or the error."),
    "watch": (_HERE + "following:watch", "Follow a RUN until it ends: every step, message and state as it comes."),
    "start": (_HERE + "changing:start", "Start a run of FLOW, or join the one of that id."),
    "send": (_HERE + "changing:send", "Leave a message for an open RUN; it is on disk when this returns."),
    "cancel": (_HERE + "changing:cancel", "Ask a RUN to stop; its flow may clean up first."),
    "retry": (
        _HERE + "changing:retry",
        "Let a blocked or quarantined RUN go on, or start a failed one again with the same input.",
    ),
    "stack": (_HERE + "changing:stack", "Show where the code of a RUN waits, as its owner has it in memory."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def runs() -> None:
    """Look at runs, start them, change them.

    RUN is the id of a run, or `id#2` for a certain one where several have the same id.
    """
