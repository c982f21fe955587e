"""``on``: events that start flows or are handled by functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Literal

from headrace._authoring.flow import Flow
from headrace._authoring.retry import Retry, Seconds
from headrace._authoring.step import Step
from headrace._events.filter import compile_filter
from headrace._events.model import Event
from headrace._events.topic import check_pattern, matches_any
from headrace._jobs.lifecycle import Lifecycle
from headrace._jobs.model import Job
from headrace.errors import DefinitionError, ValueRefused

Where = str | Callable[[Event[Any]], bool]
Since = Literal["now", "beginning"]
Arguments = Callable[[Event[Any]], tuple[Any, ...]] | Callable[[Event[Any], Job[Any]], tuple[Any, ...]]

HANDLER_RETRY = Retry(attempts=8, first=1, factor=2, ceiling=timedelta(minutes=5))
"""What a handler gets that says nothing else: about two minutes of trying, then a dead letter."""


class Trigger:
    """What ``on`` makes: a durable subscription, and what becomes of its events.

    Those of the runtime itself may be ``raw``: they get events with their data as they stand in the log, whatever type is declared.
    ``at_once`` bounds how many events of a function are handled at the same time.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        target: Flow[Any, Any] | Step[Any, Any] | Callable[..., Any],
        *,
        args: Arguments | None,
        name: str | None,
        where: Where | None,
        retry: Retry | None,
        timeout: Seconds | None,
        since: Since,
        job: Lifecycle[Any] | None,
        parts: int,
        raw: bool = False,
        at_once: int | None = None,
    ) -> None:
        self.raw = raw
        self.at_once = at_once
        self.patterns = _patterns(topics)
        self.name = name or _name_of(target)
        self.flow = target if isinstance(target, Flow) else None
        self.handler = None if isinstance(target, Flow) else _as_step(target, self._where(), timeout)
        self.args: Callable[..., tuple[Any, ...]] | None = args
        self.takes_job = args is not None and len(_needed(args)) > 1
        self.since = since
        self.job = job
        self.parts = parts
        self.retry = retry or self._own_retry()
        self.predicate = self._compiled(where)
        self._check()

    @property
    def leaves_for(self) -> str:
        """Where its events leave the log for, in words; empty when they stay here."""
        return ""

    def wants(self, topic: str) -> bool:
        """Whether the topic is one of its own."""
        return matches_any(self.patterns, topic)

    def arguments(self, event: Event[Any], job: Job[Any] | None = None) -> bytes:
        """The input of the run that this event starts; ``job`` for those that ``takes_job``."""
        assert self.flow is not None
        if self.args is not None:
            given = self.args(event, job) if self.takes_job else self.args(event)
            if not isinstance(given, tuple):
                raise DefinitionError(
                    f"{self._where()}: args= returned {type(given).__name__}; it has to be a tuple: (event.data,)"
                )
        else:
            given = (event,) if self.flow.parameters else ()
        return self.flow.shape.encode(given, {})

    def _own_retry(self) -> Retry:
        if self.handler is not None and self.handler.retry.attempts != 1:
            return self.handler.retry
        return HANDLER_RETRY

    def _compiled(self, where: Where | None) -> Callable[[Event[Any]], bool] | None:
        if not isinstance(where, str):
            return where
        try:
            return compile_filter(where)
        except ValueRefused as error:
            raise DefinitionError(f"{self._where()}: {error}") from None

    def _check(self) -> None:
        where = self._where()
        if not re.fullmatch(r"[\w.-]+", self.name):
            raise DefinitionError(f"{where}: name={self.name!r}; use letters, digits, dots, dashes and underscores")
        if self.flow is None:
            if self.args is not None:
                raise DefinitionError(f"{where}: args= is for flows; a handler gets the event")
            if self.job is not None:
                raise DefinitionError(f"{where}: job= is for flows; a handler moves jobs by publishing events")
        elif self.job is not None and not self.job.ends:
            raise DefinitionError(
                f"{where}: job={self.job.name!r} needs ends= in its lifecycle: the events that tell how the run ended"
            )
        if self.takes_job and self.job is None:
            raise DefinitionError(f"{where}: args= takes the job too, so say of which lifecycle: job=...")
        if self.parts < 1 or self.parts > 64:
            raise DefinitionError(f"{where}: parts={self.parts}; use 1 to 64")

    def _where(self) -> str:
        return f"on({', '.join(map(repr, self.patterns))}, {self.name})"

    def __repr__(self) -> str:
        return f"<trigger {self.name}: {', '.join(self.patterns)}>"


class Relay(Trigger):
    """A subscription whose events leave for a broker: what a bridge has in the place of a flow or a handler."""

    def __init__(
        self, topics: str | Sequence[str], *, name: str, leaves_for: str, retry: Retry | None, since: Since
    ) -> None:
        self.raw = False
        self.at_once = None
        self.patterns = _patterns(topics)
        self.name = name
        self.flow = None
        self.handler = None
        self.args = None
        self.takes_job = False
        self.since = since
        self.job = None
        self.parts = 1
        self.retry = retry or HANDLER_RETRY
        self.predicate = None
        self._leaves_for = leaves_for

    @property
    def leaves_for(self) -> str:
        return self._leaves_for


def on(
    topics: str | Sequence[str],
    target: Flow[Any, Any] | Step[Any, Any] | Callable[..., Any],
    *,
    args: Arguments | None = None,
    name: str | None = None,
    where: Where | None = None,
    retry: Retry | None = None,
    timeout: Seconds | None = None,
    since: Since = "now",
    job: Lifecycle[Any] | None = None,
    parts: int = 1,
) -> Trigger:
    """Subscribe to topics (patterns too): each event starts ``target`` if it is a flow, once per event, or is given to it if it is a function.

    A flow gets ``args(event)``, or the event itself. With ``job`` the run works for the job that the event is about, and ``args`` may
    take that job too: ``args=lambda event, job: (job.id, job.data)``.
    A function gets the event; it may be async or plain, or a ``@step``; one with ``transactional=True`` gets (tx, event) and handles each
    event exactly once. Events of one subject come in order, those of different subjects at the same time; a failed one is tried again by
    ``retry`` while later ones of its subject wait, then it becomes a dead letter.

    ``where`` is a predicate or a filter text such as ``'data.language == "he"'``. The subscription remembers how far it is under ``name``;
    a new one begins with the next event, or with ``since="beginning"``. ``parts`` of it can be worked on by different processes.
    """
    return Trigger(
        topics,
        target,
        args=args,
        name=name,
        where=where,
        retry=retry,
        timeout=timeout,
        since=since,
        job=job,
        parts=parts,
    )


def _patterns(topics: str | Sequence[str]) -> tuple[str, ...]:
    found = (topics,) if isinstance(topics, str) else tuple(topics)
    if not found:
        raise DefinitionError("on(...): name at least one topic")
    try:
        return tuple(check_pattern(topic) for topic in found)
    except ValueRefused as error:
        raise DefinitionError(f"on({', '.join(map(repr, found))}): {error}") from None


def _name_of(target: object) -> str:
    name = target.name if isinstance(target, (Flow, Step)) else getattr(target, "__name__", "")
    if not name or name == "<lambda>":
        raise DefinitionError(f"on(..., {target!r}): a handler without a name; give the subscription one with name=")
    return str(name)


def _needed(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    return [item for item in inspect.signature(fn).parameters.values() if item.default is item.empty]


def _as_step(target: Step[Any, Any] | Callable[..., Any], where: str, timeout: Seconds | None) -> Step[Any, Any]:
    fn = target.fn if isinstance(target, Step) else target
    if not callable(fn):
        raise DefinitionError(f"{where}: {target!r} is neither a flow nor a function")
    transactional = isinstance(target, Step) and target.mode == "transaction"
    if len(_needed(fn)) != (2 if transactional else 1):
        raise DefinitionError(f"{where}: a handler takes {'(tx, event)' if transactional else '(event)'}")
    if not isinstance(target, Step):
        return Step(fn, name=None, timeout=timeout, retry=None, cpu=False, at_most_once=False, transactional=False)
    if timeout is not None:
        raise DefinitionError(f"{where}: timeout= is for plain functions; this one is a step, which has its own")
    if target.mode == "process":
        raise DefinitionError(f"{where}: a handler cannot be a cpu step; let the event start a flow that calls it")
    if target.at_most_once:
        raise DefinitionError(f"{where}: a handler is called at least once; leave out at_most_once")
    return target
