"""Who asks, judged by what the request brings: a token, the cookie of a login, or nothing but its way here."""

from __future__ import annotations

import hmac

from starlette.requests import Request
from starlette.types import Scope as AsgiScope

from headrace._access.model import Caller, Scope, Token
from headrace._access.store import note_use, token_behind, token_of_session
from headrace._app.app import Headrace
from headrace._base import log
from headrace._base.clock import Instant
from headrace._web.admission import Admission
from headrace._web.origin import came_through_proxy

LOCAL = Caller(name="(this machine)", scope=Scope.ADMIN)
OWNER = Caller(name="(the owner's file)", scope=Scope.ADMIN)
_BETWEEN_NOTES = 60_000_000


def cookie_name(scope: AsgiScope) -> str:
    """Cookies do not tell ports apart, and there may be several servers on one machine."""
    return f"headrace_{(scope.get('server') or ('', 0))[1]}"


class Callers:
    def __init__(self, app: Headrace, admission: Admission) -> None:
        self._app = app
        self._admission = admission
        self._noted: dict[int, Instant] = {}

    def identify(self, request: Request) -> Caller | None:
        """None: whoever it is has no token, or a wrong one."""
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._by_token(text.strip(), request)
        session = request.cookies.get(cookie_name(request.scope))
        if session and (found := self._by_session(session)):
            return found
        if self._admission.needs_token or came_through_proxy(request.headers):
            return None
        return LOCAL

    def _by_token(self, text: str, request: Request) -> Caller | None:
        owner = self._admission.owner_token
        if owner is not None and hmac.compare_digest(text.encode(), owner.encode()):
            return OWNER
        token = self._app.database.read(lambda reader: token_behind(reader, text))
        if token is None:
            # Never what was given: a token with one wrong letter is nearly a token.
            log.warning("access.refused", client=request.client.host if request.client else None)
            return None
        return self._caller(token)

    def _by_session(self, session: str) -> Caller | None:
        now = self._app.clock.now()
        token = self._app.database.read(lambda reader: token_of_session(reader, session, now))
        return None if token is None else self._caller(token)

    def _caller(self, token: Token) -> Caller:
        now = self._app.clock.now()
        last = self._noted.get(token.pk, token.last_used_at)
        if last is None or now - last >= _BETWEEN_NOTES:
            # To the minute is enough to find tokens that nobody uses, and a full disk must not keep anybody from looking.
            self._noted[token.pk] = now
            self._app.database.submit(lambda tx: note_use(tx, token.pk, now), lambda _result, _error: None)
        return Caller(name=token.name, scope=token.scope)
