"""Settings to objects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from headrace._app.app import Headrace
from headrace._app.endpoints import Outgoing
from headrace._app.keys import keys_of
from headrace._app.worker import Worker
from headrace._authoring.pipeline import Pipeline
from headrace._engine.engine import Limits
from headrace.settings import LimitsSettings, Settings


def build(
    pipelines: Sequence[Pipeline],
    settings: Settings,
    *,
    of_pipelines: Mapping[str, BaseModel] | None = None,
    stand_ins: bool = False,
    watch: bool = True,
) -> Headrace:
    """The application that these settings describe; nothing is opened yet."""
    return Headrace(
        pipelines,
        store=settings.store.location,
        durability=settings.store.durability,
        preflight=settings.preflight,
        limits=_limits(settings.limits),
        settings=of_pipelines,
        stand_ins=stand_ins,
        watch=watch,
        keys=keys_of(settings.store),
        outgoing=Outgoing(timeout=settings.webhooks.timeout, waits=settings.webhooks.waits),
        rabbitmq=settings.rabbitmq.url.get_secret_value() if settings.rabbitmq.url is not None else None,
        subscriptions=settings.subscriptions,
    )


def build_worker(
    pipelines: Sequence[Pipeline],
    settings: Settings,
    *,
    subscriptions: Sequence[str] | None = None,
    of_pipelines: Mapping[str, BaseModel] | None = None,
    stand_ins: bool = False,
) -> Worker:
    """The worker that these settings describe; nothing is opened yet."""
    return Worker(
        pipelines,
        store=settings.store.location,
        subscriptions=subscriptions,
        limits=_limits(settings.limits),
        settings=of_pipelines,
        stand_ins=stand_ins,
        keys=keys_of(settings.store),
    )


def _limits(settings: LimitsSettings) -> Limits:
    return Limits(
        active_runs=settings.active_runs,
        idle_runs=settings.idle_runs,
        loop_steps=settings.loop_steps,
        thread_steps=settings.thread_steps,
        process_steps=settings.process_steps or os.cpu_count() or 1,
        history_warning=settings.history_warning,
        history=settings.history,
        lease_seconds=settings.lease.total_seconds(),
        drain_seconds=settings.drain.total_seconds(),
    )
