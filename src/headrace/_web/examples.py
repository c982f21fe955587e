"""What requests and answers look like, one of each, for the description of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Example = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ProblemKind:
    """What a status of refusal means here."""

    name: str
    description: str
    code: str
    message: str
    hint: str = ""

    @property
    def example(self) -> Example:
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


PROBLEMS = {
    401: ProblemKind(
        name="NoToken", description="No token, or one that is not known or was revoked.",
        code="no_token", message="the token is missing or wrong",
        hint="send 'Authorization: Bearer TOKEN'; `headrace tokens new NAME` makes a token",
    ),
    403: ProblemKind(
        name="NotAllowed", description="The token's scope does not reach so far, or a page of another site sent this.",
        code="scope_too_small", message="this needs a token of scope 'operate'; 'grafana' has 'read'",
        hint="make one: headrace tokens new NAME --scope operate",
    ),
    404: ProblemKind(
        name="NotFound", description="There is no such thing.",
        code="run_not_found", message="there is no run 'order-17'; `headrace runs ls` lists them",
    ),
    409: ProblemKind(
        name="Conflict", description="The state of things does not allow it, or a request with this key is still being carried out.",
        code="run_already_ended", message="run 'order-17' has already ended: completed",
    ),
    413: ProblemKind(
        name="TooLarge", description="The body is too large.",
        code="too_large", message="the body has more than 17 MiB; store the bytes elsewhere and pass a reference",
    ),
    415: ProblemKind(
        name="NotJson", description="The body is not said to be JSON.",
        code="not_json", message="the body is not JSON", hint="send 'Content-Type: application/json'",
    ),
    421: ProblemKind(
        name="WrongHost", description="The Host header names another server.",
        code="wrong_host", message="this server is not 'example.org'", hint="ask for 127.0.0.1; other names are set with HEADRACE_SERVER__HOSTS",
    ),
    422: ProblemKind(
        name="Invalid", description="What was sent does not fit: a parameter, the body, an argument of the flow, or the key of another request.",
        code="value_refused", message="flow 'fulfil' needs the argument 'order'; it takes order",
    ),
    500: ProblemKind(
        name="Broken", description="A defect of Headrace.",
        code="internal_error", message="something broke inside Headrace", hint="the log of the owner has the details",
    ),
    503: ProblemKind(
        name="NotNow", description="The engine has stopped, or the store does not do what was asked, for example because the disk is full; nothing of this was recorded.",
        code="engine_unavailable", message="the engine is closed", hint="what is on disk goes on at the next start",
    ),
}  # fmt: skip

_AT = "2026-01-31T08:00:00Z"
_LATER = "2026-01-31T08:00:01.250000Z"
_DUE = "2026-01-31T09:00:00Z"

_RUN: Example = {
    "id": "order-17", "number": 1, "flow": "shop.fulfil", "state": "waiting", "reason": "timer", "location": "shop/flow.py:42",
    "since": _LATER, "next_at": _DUE, "created_at": _AT, "started_at": _AT, "finished_at": None,
}  # fmt: skip
_ENDED = _RUN | {"state": "completed", "reason": "", "location": "", "next_at": None, "finished_at": _LATER}
_CHILD: Example = {"id": "parcel-17-1", "number": 1, "flow": "shop.pack", "state": "running"}
_ERROR: Example = {
    "type": "shop.errors:CarrierAway", "message": "no answer within 10 s", "traceback": "shop/steps.py:12 in book_carrier", "causes": [],
}  # fmt: skip
_ATTEMPT: Example = {
    "step": "book_carrier", "command": 1, "attempt": 1, "started_at": _AT, "at": _LATER, "next_at": _LATER, "error": _ERROR,
}  # fmt: skip
_ENTRY: Example = {
    "seq": 1, "at": _LATER, "started_at": _AT, "kind": "step", "name": "reserve_stock", "command": 0, "outcome": "ok", "attempt": 1,
    "arguments": {"order": 17}, "value": {"reserved": 2}, "error": None, "failures": [],
}  # fmt: skip
_MESSAGE: Example = {"topic": "paid", "at": _LATER, "value": {"amount": "12.50"}}
_PROGRESS: Example = {"command": 1, "at": _LATER, "value": 0.4}
_INCIDENT: Example = {
    "at": _LATER, "name": "step.late_result", "detail": "step 'book_carrier', attempt 1, ended after it had been given up; its result was dropped",
}  # fmt: skip
_TOKEN: Example = {
    "name": "grafana", "id": "3f9a01c2", "scope": "read", "created_at": _AT, "last_used_at": None, "revoked_at": None,
}  # fmt: skip

_EVENT: Example = {
    "id": "fulfil-17/1/4", "topic": "order.packed", "subject": "17", "job": "order", "sequence": 2, "position": 311, "source": "shop.fulfil",
    "time": _AT, "recorded_at": _AT, "version": 1, "cause": "fulfil-17/1/4", "generation": 1, "applied": True, "reason": "", "data": {"parcels": 1},
}  # fmt: skip
_LATE = _EVENT | {
    "id": "scanner-81", "sequence": 3, "position": 340, "source": "scanner", "cause": "", "applied": False, "reason": "the job is 'packed' already",
}  # fmt: skip
_HISTORY: Example = {"subject": "17", "job": "order", "event_count": 3, "events": [_LATE, _EVENT], "next": 2}
_JOB: Example = {
    "lifecycle": "order", "id": "17", "state": "packed", "terminal": False, "generation": 1, "created_at": _AT, "updated_at": _LATER,
    "data": {"parcels": 1},
}  # fmt: skip
_LETTER: Example = {
    "id": 5, "subscription": "shop.notify", "event": _EVENT, "attempts": 8, "error": _ERROR, "state": "dead", "first_at": _LATER, "at": _LATER,
    "redriven_at": None,
}  # fmt: skip
_MOVE: Example = {"topic": "order.packed", "sources": ["placed"], "target": "packed", "reopens": False}
_LIFECYCLE: Example = {
    "name": "order", "states": ["placed", "packed", "sent"], "terminal": ["sent"], "moves": [_MOVE], "notes": ["order.seen"],
}  # fmt: skip
_SUBSCRIPTION: Example = {
    "name": "shop.notify", "target": "handler notify", "topics": ["order.#"], "position": 311, "behind": 29, "parts": 1, "working": 2, "held": 1,
    "dead": 1, "paused": False, "replay": False, "declared": True, "trouble": "",
}  # fmt: skip
_FEED: Example = {"queue": "shop.results", "taken": 118, "known": 2, "refused": 0}
_BRIDGE: Example = {
    "name": "shop.rabbitmq", "exchange": "shop.events", "broker": "broker.example:5672", "state": "connected", "since": _AT, "error": "", "next_at": None,
    "sending": 2, "confirmed": 309, "unroutable": 0, "behind": 29, "lag": 0.4, "feeds": [_FEED],
}  # fmt: skip

_DELIVERED: Example = {
    "ok": True,
    "at": _LATER,
    "event": "fulfil-17/1/4",
    "topic": "order.packed",
    "status": 204,
    "error": "",
}
_ENDPOINT: Example = {
    "name": "billing", "url": "https://billing.example.org/hooks", "topics": ["order.#"], "filter": "data.parcels > 1", "allow_private": False,
    "enabled": True, "reason": "", "created_at": _AT, "old_secret_until": None, "subscription": "webhook:billing", "last": _DELIVERED,
    "failures": 0, "waiting": 0, "dead": 0,
}  # fmt: skip
_SECRET: Example = {"secret": "whsec_...", "about": _ENDPOINT | {"last": None}}  # pragma: allowlist secret

EXAMPLES: dict[str, object] = {
    "Accepted": {"id": "order-17", "number": 1, "state": "waiting"},
    "AddEndpoint": {
        "name": "billing", "url": "https://billing.example.org/hooks", "topics": ["order.#"], "filter": "data.parcels > 1", "allow_private": False,
    },
    "AttemptView": _DELIVERED,
    "BridgeView": _BRIDGE,
    "CancelRun": {"force": False},
    "ClientPayload": {"subject": "games", "id": None, "use_change_detection": True},
    "DeadLetterPage": {"letters": [_LETTER], "next": None},
    "Dispatch": {"event_type": "data.fetched", "client_payload": {"subject": "games", "id": None, "use_change_detection": True}},
    "DisableEndpoint": {"reason": "their server moves on Sunday"},
    "EndpointList": {"endpoints": [_ENDPOINT]},
    "EndpointView": _ENDPOINT,
    "ErrorText": _ERROR,
    "EventPage": {"events": [_EVENT], "next": 310},
    "EventView": _EVENT,
    "FailedAttempt": _ATTEMPT,
    "FeedView": _FEED,
    "Health": {"ok": True, "reason": ""},
    "History": {"run": _RUN, "entries": [_ENTRY], "retrying": [], "next": None},
    "HistoryEntry": _ENTRY,
    "HistoryPage": _HISTORY,
    "Incident": _INCIDENT,
    "JobDetail": {"job": _JOB, "history": _HISTORY, "runs": [_CHILD]},
    "JobPage": {"jobs": [_JOB], "next": None},
    "JobView": _JOB,
    "LifecycleView": _LIFECYCLE,
    "MadeToken": {"token": "hr_3f9a01c2_...", "about": _TOKEN},
    "MakeToken": {"name": "grafana", "scope": "read"},
    "MoveView": _MOVE,
    "NewSecret": _SECRET,
    "PlainDeadLetter": _LETTER,
    "Problem": PROBLEMS[404].example,
    "ProblemBody": PROBLEMS[404].example["error"],
    "Progress": _PROGRESS,
    "PublishEvent": {"topic": "order.paid", "subject": "17", "data": {"amount": "12.50"}, "id": "payment-99", "source": "bank", "time": None},
    "Published": {
        "id": "payment-99", "topic": "order.paid", "subject": "17", "position": 312, "sequence": 4, "job": "order", "generation": 1,
        "applied": True, "reason": "", "duplicate": False,
    },
    "RedriveAll": {"subscription": "shop.notify"},
    "Redriven": {"letters": 3},
    "ReplayEvents": {"after": 300, "since": None, "until": None, "dry_run": True},
    "ReplayView": {"subscription": "shop.notify", "name": "shop.notify~1", "events": 12},
    "RotateSecret": {"overlap": 86_400},
    "RunDetail": {
        "run": _RUN, "input": {"order": 17}, "result": None, "error": None, "deadline_at": None, "continued_as": None, "parent": None,
        "children": [_CHILD], "messages": [_MESSAGE], "retrying": [_ATTEMPT], "progress": [_PROGRESS], "incidents": [_INCIDENT],
    },
    "RunName": _CHILD,
    "RunPage": {"runs": [_RUN], "next": 41},
    "RunResult": {"run": _ENDED, "ended": True, "result": {"delivered": True}, "error": None},
    "RunState": "waiting",
    "RunView": _RUN,
    "Scope": "read",
    "SendMessage": {"topic": "paid", "value": {"amount": "12.50"}},
    "Stack": {"id": "order-17", "lines": ["main: shop/flow.py:42 in fulfil"]},
    "StartRun": {"flow": "shop.fulfil", "arguments": {"order": 17}, "id": None, "policy": "join"},
    "Started": {"run": _RUN | {"state": "running", "reason": "", "location": "", "next_at": None}, "joined": False},
    "Status": {
        "version": "0.1.0", "pid": 4711, "store": "/srv/shop/headrace.db", "ready": True, "failure": None,
        "flows": {"shop": ["fulfil", "pack"]}, "runs": {"completed": 16, "waiting": 1},
        "bridges": [_BRIDGE],
    },
    "SubscriptionView": _SUBSCRIPTION,
    "Switched": {"name": "shop.notify", "paused": True},
    "TokenList": {"tokens": [_TOKEN]},
    "TokenView": _TOKEN,
    "TopicView": {"topic": "order.packed", "events": 16, "last_at": _AT},
    "UnreadMessage": _MESSAGE,
    "WebhookAnswer": {"webhook": "shop.carrier", "accepted": True, "event": "webhooks/shop.carrier/msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", "position": 312},
}  # fmt: skip
"""By name of the schema."""
