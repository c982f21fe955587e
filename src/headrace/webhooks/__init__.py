"""Webhooks that go out: an event as CloudEvents, signed as Standard Webhooks says, to an address that is what it seems to be.

Endpoints that people add with `headrace webhooks add` need none of this; a handler or step of a pipeline that has an address of its
own calls ``send``.
"""

from __future__ import annotations

from headrace.webhooks._sender import Delivered, send

__all__ = ["Delivered", "send"]
