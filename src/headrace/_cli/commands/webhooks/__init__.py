"""``headrace webhooks``."""

from __future__ import annotations

import click

from headrace._cli.lazy import LazyGroup

_HERE = "headrace._cli.commands.webhooks."
COMMANDS = {
    "add": (_HERE + "changing:add", "Send events to an address, and show the secret that signs them, this once."),
    "ls": (_HERE + "reading:ls", "List where events are sent, and how the last attempt of each went."),
    "show": (_HERE + "reading:show", "Show one endpoint."),
    "test": (_HERE + "changing:test", "Send a ping to an endpoint, once, and say how it went; it may be disabled."),
    "disable": (
        _HERE + "changing:disable",
        "Send nothing there until it is enabled; what comes meanwhile waits in the log.",
    ),
    "enable": (_HERE + "changing:enable", "Send what has come meanwhile, and go on."),
    "rotate": (_HERE + "changing:rotate", "Sign with a new secret, and for a while with the one before, too."),
    "rm": (_HERE + "changing:rm", "Send nothing more there, not what waits either; its dead letters stay, dismissed."),
}


@click.group(cls=LazyGroup, commands_in=COMMANDS)
def webhooks() -> None:
    """Send events to other systems: add their addresses, look how it goes, steer it.

    They work with or without a running owner; what is to be sent goes out when one runs. What could not be delivered
    after a day is in `headrace deadletters`.
    """
