"""Durable, event-driven pipelines as plain async Python."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace._app.app import Headrace, Run
    from headrace._app.tables import Tables
    from headrace._authoring.context import (
        RunRef,
        continue_as_new,
        now,
        patched,
        publish,
        random,
        receive,
        send,
        sleep,
        sleep_until,
        start,
        use,
        using,
        uuid,
        wait_event,
    )
    from headrace._authoring.flow import flow
    from headrace._authoring.pipeline import Pipeline
    from headrace._authoring.retry import Retry
    from headrace._authoring.step import step
    from headrace._authoring.trigger import on
    from headrace._authoring.webhook import EventDraft, Webhook, WebhookCall
    from headrace._bridge.declaration import Feed, RabbitMQ
    from headrace._bridge.model import BrokerMessage, OutsideEvent
    from headrace._events.model import Event, Published
    from headrace._events.schema import EventType
    from headrace._jobs.lifecycle import Lifecycle
    from headrace._jobs.model import Job, RunOutcome
    from headrace._ports.database import Statement, Transaction
    from headrace._store.statements import load_statements

__all__ = [
    "BrokerMessage",
    "Event",
    "EventDraft",
    "EventType",
    "Feed",
    "Headrace",
    "Job",
    "Lifecycle",
    "OutsideEvent",
    "Pipeline",
    "Published",
    "RabbitMQ",
    "Retry",
    "Run",
    "RunOutcome",
    "RunRef",
    "Statement",
    "Tables",
    "Transaction",
    "Webhook",
    "WebhookCall",
    "continue_as_new",
    "flow",
    "load_statements",
    "now",
    "on",
    "patched",
    "publish",
    "random",
    "receive",
    "send",
    "sleep",
    "sleep_until",
    "start",
    "step",
    "use",
    "using",
    "uuid",
    "wait_event",
]

# Names are loaded when they are used first: `headrace --help` needs none of them, a worker process needs no store.
_HOME = {
    "BrokerMessage": "headrace._bridge.model",
    "Feed": "headrace._bridge.declaration",
    "OutsideEvent": "headrace._bridge.model",
    "RabbitMQ": "headrace._bridge.declaration",
    "Event": "headrace._events.model",
    "EventDraft": "headrace._authoring.webhook",
    "EventType": "headrace._events.schema",
    "Job": "headrace._jobs.model",
    "Lifecycle": "headrace._jobs.lifecycle",
    "Published": "headrace._events.model",
    "RunOutcome": "headrace._jobs.model",
    "Tables": "headrace._app.tables",
    "load_statements": "headrace._store.statements",
    "on": "headrace._authoring.trigger",
    "Headrace": "headrace._app.app",
    "Pipeline": "headrace._authoring.pipeline",
    "Retry": "headrace._authoring.retry",
    "Run": "headrace._app.app",
    "Statement": "headrace._ports.database",
    "Transaction": "headrace._ports.database",
    "Webhook": "headrace._authoring.webhook",
    "WebhookCall": "headrace._authoring.webhook",
    "flow": "headrace._authoring.flow",
    "step": "headrace._authoring.step",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME.get(name, "headrace._authoring.context")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
