"""A pipeline is its table of contents: one value that names all its parts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headrace._authoring.bridge import Bridge
from headrace._authoring.flow import Flow
from headrace._authoring.guard import inspect_flow
from headrace._authoring.trigger import Trigger
from headrace._authoring.webhook import Webhook
from headrace._events.schema import EventType
from headrace._jobs.catalogue import Catalogue
from headrace._jobs.lifecycle import Lifecycle
from headrace._store.pipeline_tables import load_tables
from headrace.errors import DefinitionError, FlowNotFound, NotFound

if TYPE_CHECKING:
    from pydantic import BaseModel

Watcher = Callable[[Any], Awaitable[None]]
"""An async function that gets the running ``Headrace``."""
Wiring = Callable[..., Any] | Callable[..., AbstractAsyncContextManager[Any]]


class Pipeline:
    """Flows that belong together, what starts them, what they say, and the wiring that gives their steps what they use.

    ``triggers`` are made by ``on``; ``webhooks`` take what other systems tell; ``events`` declare the data of topics; ``lifecycles`` the
    jobs that events move.
    ``tables`` is a package with ``migrations/``, whose tables begin with the pipeline's name. ``settings`` is a model whose fields are
    environment variables ``HEADRACE_<NAME>_<FIELD>``. ``routes`` (a FastAPI router), ``pages`` (a ``headrace.pages.Pages``) and
    ``commands`` (a click group) are named as ``module:attribute`` and imported when they are needed;
    so is ``metrics``, a function of ``Tables`` that returns ``headrace.web.Reading`` values for ``/metrics``.

    ``wire`` is called once at start; it returns, or as an async context manager yields, the thing (or a tuple of things) that ``use``
    finds by type. It gets those of ``settings``, ``stand_ins`` and ``tables`` that it has parameters for.

    ``watchers`` are async functions that run as long as Headrace does, beside the flows: each gets the running ``Headrace``, watches
    something outside, and publishes what it sees. One that raises is begun again, later each time.

    ``bridges`` exchange events with a broker: ``RabbitMQ(...)``.
    """

    def __init__(
        self,
        name: str,
        *,
        flows: Sequence[Flow[Any, Any]] = (),
        triggers: Sequence[Trigger] = (),
        webhooks: Sequence[Webhook] = (),
        events: Sequence[EventType[Any]] = (),
        lifecycles: Sequence[Lifecycle[Any]] = (),
        tables: str | None = None,
        settings: type[BaseModel] | None = None,
        routes: str | None = None,
        pages: str | None = None,
        commands: str | None = None,
        metrics: str | None = None,
        watchers: Sequence[Watcher] = (),
        bridges: Sequence[Bridge] = (),
        wire: Wiring | None = None,
    ) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise DefinitionError(
                f"Pipeline({name!r}): a name is lower-case letters, digits and underscores, for example 'goals'"
            )
        for item in flows:
            if not isinstance(item, Flow):
                raise DefinitionError(f"Pipeline({name!r}): {item!r} in flows is no flow; decorate it with @flow")
            item.shape.check()
            inspect_flow(item.fn)  # again: helpers that stand below the flow are known by now
        names = [item.name for item in flows]
        for twice in {item for item in names if names.count(item) > 1}:
            raise DefinitionError(
                f"Pipeline({name!r}): two flows are called {twice!r}; give one another name with @flow(name=...)"
            )
        for trigger in triggers:
            if trigger.flow is not None and trigger.flow not in flows:
                raise DefinitionError(
                    f"Pipeline({name!r}): {trigger!r} starts flow {trigger.flow.name!r}, which is not in flows; add it there"
                )
        for bridge in bridges:
            if not isinstance(bridge, Bridge):
                raise DefinitionError(f"Pipeline({name!r}): {bridge!r} in bridges is no bridge; write RabbitMQ(...)")
        named = [trigger.name for trigger in triggers] + [bridge.name for bridge in bridges]
        for twice in {item for item in named if named.count(item) > 1}:
            raise DefinitionError(
                f"Pipeline({name!r}): two subscriptions are called {twice!r}; give one another name with name=..."
            )
        taken = [webhook.name for webhook in webhooks]
        for twice in {item for item in taken if taken.count(item) > 1}:
            raise DefinitionError(f"Pipeline({name!r}): two webhooks are called {twice!r}; give one another name")
        for webhook in webhooks:
            webhook.check_setting(settings)
        for watcher in watchers:
            if not inspect.iscoroutinefunction(watcher):
                raise DefinitionError(
                    f"Pipeline({name!r}): {watcher!r} in watchers is no async function; write: async def watch(app): ..."
                )
        Catalogue(events, lifecycles)  # two types of one topic, two lifecycles of one name
        self.name = name
        self.flows = tuple(flows)
        self.triggers = tuple(triggers)
        self.webhooks = tuple(webhooks)
        self.events = tuple(events)
        self.lifecycles = tuple(lifecycles)
        self.tables = None if tables is None else load_tables(tables, owner=name)
        self.settings = settings
        self.routes = _place(name, "routes", routes)
        self.pages = _place(name, "pages", pages)
        self.commands = _place(name, "commands", commands)
        self.metrics = _place(name, "metrics", metrics)
        self.watchers = tuple(watchers)
        self.bridges = tuple(bridges)
        self.wire = wire

    def __repr__(self) -> str:
        return f"<pipeline {self.name}: {', '.join(item.name for item in self.flows)}>"


def _place(pipeline: str, what: str, place: str | None) -> str | None:
    if place is not None and not re.fullmatch(r"[\w.]+:\w+", place):
        raise DefinitionError(
            f"Pipeline({pipeline!r}): {what}={place!r} has to be 'module:attribute', for example '{pipeline}.{what}:{what}'"
        )
    return place


def _relays(pipeline: Pipeline) -> list[Trigger]:
    return [bridge.relay for bridge in pipeline.bridges if bridge.relay is not None]


@dataclass(frozen=True)
class Registry:
    """All flows of the loaded pipelines, by their full name ``pipeline.flow``."""

    flows: Mapping[str, Flow[Any, Any]]
    pipeline_of: Mapping[str, Pipeline]
    names: Mapping[int, str] = field(default_factory=dict)
    catalogue: Catalogue = field(default_factory=Catalogue)
    triggers: Mapping[str, tuple[Pipeline, Trigger]] = field(default_factory=dict)
    """By the name of the subscription: ``pipeline.name``."""
    webhooks: Mapping[str, tuple[Pipeline, Webhook]] = field(default_factory=dict)
    """The same for those that come in."""

    @staticmethod
    def of(pipelines: Iterable[Pipeline]) -> Registry:
        pipelines = tuple(pipelines)
        flows: dict[str, Flow[Any, Any]] = {}
        owners: dict[str, Pipeline] = {}
        names: dict[int, str] = {}
        seen: set[str] = set()
        for pipeline in pipelines:
            if pipeline.name in seen:
                raise DefinitionError(f"two pipelines are called {pipeline.name!r}")
            seen.add(pipeline.name)
            for item in pipeline.flows:
                if id(item) in names:
                    raise DefinitionError(
                        f"flow {item.name!r} is in two pipelines ({names[id(item)]} and {pipeline.name}); it belongs to one"
                    )
                full = f"{pipeline.name}.{item.name}"
                flows[full] = item
                owners[full] = pipeline
                names[id(item)] = full
        catalogue = Catalogue(
            [item for pipeline in pipelines for item in pipeline.events],
            [item for pipeline in pipelines for item in pipeline.lifecycles],
        )
        triggers = {
            f"{pipeline.name}.{item.name}": (pipeline, item)
            for pipeline in pipelines
            for item in (*pipeline.triggers, *_relays(pipeline))
        }
        webhooks = {
            f"{pipeline.name}.{item.name}": (pipeline, item) for pipeline in pipelines for item in pipeline.webhooks
        }
        return Registry(
            MappingProxyType(flows),
            MappingProxyType(owners),
            MappingProxyType(names),
            catalogue,
            MappingProxyType(triggers),
            MappingProxyType(webhooks),
        )

    def name_of(self, flow: Flow[Any, Any]) -> str:
        try:
            return self.names[id(flow)]
        except KeyError:
            raise FlowNotFound(flow.name, tuple(self.flows)) from None

    def find(self, name: str) -> str:
        """The full name for a full or an unambiguous short one."""
        if name in self.flows:
            return name
        matches = [full for full in self.flows if full.split(".", 1)[1] == name]
        if len(matches) == 1:
            return matches[0]
        raise FlowNotFound(name, tuple(self.flows))

    def find_webhook(self, name: str) -> str:
        """The full name of a webhook for a full or an unambiguous short one."""
        matches = [full for full in self.webhooks if name in (full, full.split(".", 1)[1])]
        if len(matches) == 1:
            return matches[0]
        # Whoever asks may be anybody, so the others are not told.
        raise NotFound(
            f"there is no webhook {name!r} here; it is named 'pipeline.name', as in Pipeline(webhooks=[Webhook('name', ...)])"
        )
