"""What every request must pass: the right Host, the token, a body of bearable size."""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace._web import errors

BODY_LIMIT = 17 * 1024 * 1024
"""A value may have 16 MiB; the rest is what stands around it."""

# A page of another site can point its own name at 127.0.0.1, but then its name is in the Host header.
_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_OPEN = frozenset({"/healthz", "/readyz"})


class Gate:
    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self._app = app
        self._expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        # Run ids may hold any character, slashes too, so paths are matched as they came and decoded afterwards.
        scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        body = _Body(receive)
        begun = _Begun(send)
        try:
            await self._app(scope, body, begun)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the caller gets the one shape and the log the rest
            response = errors.answer_to_defect(error, f"{scope['method']} {scope['path']}")
            if not begun.happened:
                await response(scope, receive, send)

    def _refusal(self, scope: Scope) -> Any:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in _HOSTS:
            return errors.answer(421, "wrong_host", f"this server is not {host!r}", "ask for 127.0.0.1")
        if scope["path"] in _OPEN:
            return None
        # Pages are for the person at this machine, whose browser has no token.
        expected = self._expected if scope["path"].startswith("/api/") else None
        if expected is not None and not hmac.compare_digest(headers.get(b"authorization", b""), expected):
            hint = "send 'Authorization: Bearer <token>'; the token is in the file beside the store that ends in .token"
            return errors.answer(401, "no_token", "the token is missing or wrong", hint)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > BODY_LIMIT:
            return errors.answer(413, "too_large", _too_large())
        return None


class _Body:
    """Counts what comes in: a body sent in chunks does not say its length before."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > BODY_LIMIT:
            raise HTTPException(413, _too_large())
        return message


class _Begun:
    def __init__(self, send: Send) -> None:
        self._send = send
        self.happened = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.happened = True
        await self._send(message)


def _too_large() -> str:
    return f"the body has more than {BODY_LIMIT // 1024 // 1024} MiB; store the bytes elsewhere and pass a reference"
