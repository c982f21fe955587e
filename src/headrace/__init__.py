"""Durable, event-driven pipelines as plain async Python."""

from headrace._app.app import Headrace, Run
from headrace._authoring.context import (
    RunRef,
    continue_as_new,
    now,
    patched,
    random,
    receive,
    send,
    sleep,
    sleep_until,
    start,
    use,
    using,
    uuid,
)
from headrace._authoring.flow import flow
from headrace._authoring.pipeline import Pipeline
from headrace._authoring.retry import Retry
from headrace._authoring.step import step

__all__ = [
    "Headrace",
    "Pipeline",
    "Retry",
    "Run",
    "RunRef",
    "continue_as_new",
    "flow",
    "now",
    "patched",
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
]
