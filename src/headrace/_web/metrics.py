"""``/metrics`` in the text format of Prometheus, version 0.0.4.

Numbers of what has happened count from the start of this process; numbers of what is there are read when they are asked for.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from headrace._app.app import Headrace
from headrace._app.tables import Tables
from headrace._bridge.model import BridgeView
from headrace._ports.database import Reader
from headrace._runs.model import RunState
from headrace._runs.store import counts, waiting_for_time
from headrace._store.health import sqlite_version
from headrace._web.lag import LoopLag
from headrace._web.live import Streams

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Where the numbers come from, at one moment."""

    app: Headrace
    version: str
    uptime: float
    lag: LoopLag
    streams: Streams
    open_runs: Mapping[str, int]
    timers: int


@dataclass(frozen=True, kw_only=True)
class Metric:
    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...] = ()
    read: Callable[[Measured], Iterable[Sample]]


def _one(read: Callable[[Measured], float]) -> Callable[[Measured], Iterable[Sample]]:
    return lambda now: [({}, read(now))]


def _each(label: str, read: Callable[[Measured], Mapping[str, int]]) -> Callable[[Measured], Iterable[Sample]]:
    return lambda now: [({label: value}, number) for value, number in sorted(read(now).items())]


def _from_zero(numbers: Mapping[str, int], *, open: bool) -> Mapping[str, int]:
    # What is told only once it has happened cannot be waited for.
    return {state.value: numbers.get(state.value, 0) for state in RunState if state.is_open is open}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A metric of a pipeline, as it is at this moment; its name begins with the pipeline's."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    samples: Sequence[Sample]
    """Labels and number."""


def _of_bridges(read: Callable[[BridgeView], float]) -> Callable[[Measured], Iterable[Sample]]:
    return lambda now: [({"bridge": bridge.name}, read(bridge)) for bridge in now.app.bridges]


def _fed(now: Measured) -> Iterator[Sample]:
    for bridge in now.app.bridges:
        for feed in bridge.feeds:
            for outcome, number in (("taken", feed.taken), ("known", feed.known), ("refused", feed.refused)):
                yield {"bridge": bridge.name, "queue": feed.queue, "outcome": outcome}, number


METRICS = (
    Metric(
        name="headrace_build_info", kind="gauge", help="Always 1; the labels say what runs.",
        labels=("version", "python", "sqlite"),
        read=lambda now: [
            ({"version": now.version, "python": platform.python_version(), "sqlite": sqlite_version()}, 1)
        ],
    ),
    Metric(
        name="headrace_uptime_seconds", kind="gauge", help="How long this process has answered.",
        read=_one(lambda now: now.uptime),
    ),
    Metric(
        name="headrace_ready", kind="gauge", help="1 while runs go on, 0 when they do not.",
        read=_one(lambda now: now.app.failure is None),
    ),
    Metric(
        name="headrace_runs_open", kind="gauge", help="Runs that have not ended, by state.", labels=("state",),
        read=_each("state", lambda now: _from_zero(now.open_runs, open=True)),
    ),
    Metric(
        name="headrace_runs_started_total", kind="counter", help="Runs that were begun.",
        read=_one(lambda now: now.app.engine.tally.runs_begun),
    ),
    Metric(
        name="headrace_runs_ended_total", kind="counter", help="Runs that have ended, by how.", labels=("state",),
        read=_each("state", lambda now: _from_zero(now.app.engine.tally.runs_ended, open=False)),
    ),
    Metric(
        name="headrace_step_attempts_started_total", kind="counter", help="Attempts of steps that were begun.",
        read=_one(lambda now: now.app.engine.tally.attempts_started),
    ),
    Metric(
        name="headrace_steps_ended_total", kind="counter", help="Steps whose outcome was recorded, by outcome; error is the failed ones.",
        labels=("outcome",), read=_each("outcome", lambda now: now.app.engine.tally.steps_ended),
    ),
    Metric(
        name="headrace_step_retries_total", kind="counter", help="Failed attempts that are followed by another one.",
        read=_one(lambda now: now.app.engine.tally.retries),
    ),
    Metric(
        name="headrace_steps_running", kind="gauge", help="Attempts of steps that are under way.",
        read=_one(lambda now: now.app.engine.steps_under_way),
    ),
    Metric(
        name="headrace_timers_open", kind="gauge", help="Runs on disk for which something falls due by itself.",
        read=_one(lambda now: now.timers),
    ),
    Metric(
        name="headrace_store_operations_total", kind="counter", help="Operations that were committed.",
        read=_one(lambda now: now.app.commits().operations),
    ),
    Metric(
        name="headrace_store_transactions_total", kind="counter", help="Transactions in which they were; each of them waits for the disk once.",
        read=_one(lambda now: now.app.commits().transactions),
    ),
    Metric(
        name="headrace_store_bytes", kind="gauge", help="Size of the store, by part: the file itself, and what waits to move into it.",
        labels=("part",), read=_each("part", lambda now: now.app.sizes()),
    ),
    Metric(
        name="headrace_loop_lag_max_seconds", kind="gauge", help="How late the event loop was at worst in the last minute.",
        read=_one(lambda now: now.lag.longest),
    ),
    Metric(
        name="headrace_bridge_connected", kind="gauge", help="1 while a bridge has its broker, 0 while it is off or waits for it.",
        labels=("bridge",), read=_of_bridges(lambda bridge: bridge.state == "connected"),
    ),
    Metric(
        name="headrace_bridge_behind", kind="gauge", help="Positions of the log that are not known to be sent yet.", labels=("bridge",),
        read=_of_bridges(lambda bridge: bridge.behind),
    ),
    Metric(
        name="headrace_bridge_lag_seconds", kind="gauge", help="How long ago the first of these was recorded.", labels=("bridge",),
        read=_of_bridges(lambda bridge: bridge.lag),
    ),
    Metric(
        name="headrace_bridge_confirmed_total", kind="counter", help="Events that the broker has confirmed.", labels=("bridge",),
        read=_of_bridges(lambda bridge: bridge.confirmed),
    ),
    Metric(
        name="headrace_bridge_unroutable_total", kind="counter", help="Those of optional topics that no queue took.", labels=("bridge",),
        read=_of_bridges(lambda bridge: bridge.unroutable),
    ),
    Metric(
        name="headrace_feed_messages_total", kind="counter", help="Messages of queues, by outcome: taken into the log, known to it already, refused and put aside.",
        labels=("bridge", "queue", "outcome"), read=_fed,
    ),
    Metric(
        name="headrace_streams_open", kind="gauge", help="Readers of live events.",
        read=_one(lambda now: now.streams.open),
    ),
)  # fmt: skip
"""All there are; the reference is made of them."""


async def measure(app: Headrace, *, version: str, uptime: float, lag: LoopLag, streams: Streams) -> Measured:
    # With a million open runs counting takes a while, which the event loop does not have.
    open_runs, timers = await asyncio.to_thread(app.database.read, _counted)
    return Measured(
        app=app, version=version, uptime=uptime, lag=lag, streams=streams, open_runs=open_runs, timers=timers
    )


def _counted(reader: Reader) -> tuple[Mapping[str, int], int]:
    return counts(reader, only_open=True), waiting_for_time(reader)


def as_text(measured: Measured, metrics: Iterable[Metric] = METRICS) -> str:
    return "".join(line + "\n" for metric in metrics for line in _lines(metric, measured))


async def readings(app: Headrace) -> list[Reading]:
    """What the pipelines measure, besides."""
    functions = [named(pipeline.metrics) for pipeline in app.pipelines if pipeline.metrics is not None]
    return [reading for function in functions for reading in await asyncio.to_thread(function, app.tables)]


def named(place: str) -> Callable[[Tables], Sequence[Reading]]:
    """What a pipeline names as ``module:attribute``."""
    module, _, attribute = place.partition(":")
    function: Callable[[Tables], Sequence[Reading]] = getattr(import_module(module), attribute)
    return function


def readings_as_text(found: Iterable[Reading]) -> str:
    return "".join(line + "\n" for one in found for line in _exposed(one.name, one.kind, one.help, one.samples))


def _lines(metric: Metric, measured: Measured) -> Iterator[str]:
    return _exposed(metric.name, metric.kind, metric.help, metric.read(measured))


def _exposed(name: str, kind: str, help: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        number = repr(value) if isinstance(value, float) else str(int(value))
        yield f"{name}{{{inside}}} {number}" if inside else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
