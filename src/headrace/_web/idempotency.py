"""A POST that comes with an ``Idempotency-Key`` is carried out once, however often it is sent.

That it was carried out commits in the transaction of its own effect, and its answer is on disk before it is sent. So whatever a crash
leaves is clear: no record, and the request may be sent again; an answer, and it is given again; a record without an answer, and
the request has had its effect, though nobody knows the answer any more.

Refused requests change nothing, so they are not kept: whoever mends one may send it with the same key.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from hashlib import sha256
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace._app.app import Headrace
from headrace._idempotency.model import Answer, Remembered
from headrace._idempotency.store import Request, remembered
from headrace._store.companion import accompanied_by
from headrace._web import errors
from headrace._web.demand import Demand
from headrace._web.gate import DEMAND

KEY, REPLAYED = "Idempotency-Key", "Idempotency-Replayed"
LONGEST_KEY = 255


class Idempotency:
    def __init__(self, app: ASGIApp, *, headrace: Headrace) -> None:
        self._app = app
        self._headrace = headrace
        self._under_way: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = Headers(scope=scope).get(KEY) if scope["type"] == "http" and scope["method"] == "POST" else None
        demand: Demand | None = scope.get(DEMAND)
        # Where everybody may come, the route itself looks who asks; until then nobody gets an answer that another one had.
        if key is None or demand is None or demand.public:
            await self._app(scope, receive, send)
            return
        refusal = _refusal(key, demand)
        if refusal is None:
            body = await _read(receive)
            if body is None:
                return
            refusal = await self._once(
                _request(scope, key, body, self._headrace.clock.now()), body, scope, receive, send
            )
        if refusal is not None:
            await refusal(scope, receive, send)

    async def _once(self, request: Request, body: bytes, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Carry the request out, or return what is said instead."""
        if request.key in self._under_way:
            hint = "send it again in a moment, with the same key"
            return errors.answer(409, "request_under_way", "the request of this key is still being carried out", hint)
        known = self._headrace.database.read(lambda reader: remembered(reader, request.key, request.at))
        if known is not None:
            return _again(known, request)
        self._under_way.add(request.key)
        try:
            answer = _Captured()
            with accompanied_by(request.note):
                await self._app(scope, _Replayed(body, receive), answer)
            if answer.status < 400:
                kept = answer.kept()
                await self._headrace.database.write(lambda tx: request.keep(tx, kept))
        finally:
            self._under_way.discard(request.key)
        for message in answer.messages:
            await send(message)
        return None


def _refusal(key: str, demand: Demand) -> Response | None:
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"the header {KEY} is not 1 to {LONGEST_KEY} visible ASCII characters"
        return errors.answer(422, "invalid_idempotency_key", message, "use a new UUID for each request")
    if demand.most is not None:
        message = f"what is sent here is too large to be remembered, so no {KEY} can tell it from the same once more"
        return errors.answer(422, "no_idempotency_key", message, "send it without the header")
    if demand.secret:
        message = f"this answer holds a secret and is kept nowhere, so no {KEY} can bring it back"
        return errors.answer(
            422, "no_idempotency_key", message, "send it without the header; the name keeps it from being done twice"
        )
    return None


def _again(known: Remembered, request: Request) -> Response:
    if known.hash != request.hash:
        hint = "use a new key for each request, and the same one only to send the same request again"
        return errors.answer(422, "idempotency_key_reused", "another request came with this key", hint)
    if known.answer is None:
        hint = "look at what it has done; send it with a new key only to have that a second time"
        return errors.answer(
            409, "answer_lost", "the request of this key was carried out, but its answer is lost", hint
        )
    answer = known.answer
    replayed = Response(answer.body, answer.status, {REPLAYED: "true"})
    if answer.type:
        replayed.headers["content-type"] = answer.type
    return replayed


def _request(scope: Scope, key: str, body: bytes, now: int) -> Request:
    route = f"{scope['method']} {scope['path']}"
    whole = b"\0".join((route.encode("latin-1"), scope["query_string"], body))
    return Request(key=key, route=route, hash=sha256(whole).digest(), at=now)


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None when the sender has left."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


class _Replayed:
    """The body once more, then whatever comes."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Captured:
    """An answer that has to be on disk before it is sent."""

    def __init__(self) -> None:
        self.messages: list[MutableMapping[str, Any]] = []

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    def kept(self) -> Answer:
        kind = Headers(raw=self.messages[0]["headers"]).get("content-type", "")
        body = b"".join(message.get("body", b"") for message in self.messages[1:])
        return Answer(status=self.status, type=kind, body=body)
