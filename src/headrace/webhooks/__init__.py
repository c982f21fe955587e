"""Webhooks that go out: an event as CloudEvents, signed as Standard Webhooks says, to an address that is what it seems to be.

Endpoints that people add with `headrace webhooks add` need none of this; a handler or step of a pipeline that has an address of its
own calls ``send``; one that has to ask an address that somebody gave it does so over ``open_pool``.
"""

from __future__ import annotations

from headrace.webhooks._connection import open_pool
from headrace.webhooks._sender import Delivered, send

__all__ = ["Delivered", "open_pool", "send"]
