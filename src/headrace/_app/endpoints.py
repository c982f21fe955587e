"""Endpoints: what people do to them, with or without an engine at work, and how events get there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace._app.endpoint_view import AttemptView, EndpointList, EndpointView, NewSecret
from headrace._authoring.retry import Retry
from headrace._authoring.trigger import Trigger
from headrace._base import log
from headrace._base.clock import Instant, to_datetime, to_micros
from headrace._base.webhook import new_secret
from headrace._endpoints import store
from headrace._endpoints.model import Attempted, Endpoint, NewEndpoint
from headrace._endpoints.rules import check, subscription_of
from headrace._engine.delivery import Delivery, Subscribed
from headrace._events.model import Event, make_event_id
from headrace._events.store import count_dead, count_held, cursors_of
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader, Transaction
from headrace._store.companion import with_companion
from headrace.errors import Conflict, EndpointGone, EngineUnavailable, ServiceError
from headrace.settings import WebhooksSettings
from headrace.webhooks._sender import TIMEOUT, Sender, check_url

PING = "headrace.ping"
AT_ONCE = 8
"""Deliveries to one endpoint at the same time; those of one subject come one after the other anyway."""
GONE = "it answered 410: it wants no more webhooks"
_PIPELINE = "(webhooks)"
_GRACE = timedelta(seconds=5)

WAITS: tuple[timedelta, ...] = WebhooksSettings().waits
"""Between the attempts at one event, as Standard Webhooks recommends: eight of them, in a little more than a day."""
_JITTER = 0.1


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """How webhooks are sent: the time-out of one attempt, and the waits between the attempts."""

    timeout: timedelta = TIMEOUT
    waits: tuple[timedelta, ...] = WAITS


@dataclass(frozen=True, kw_only=True)
class Schedule(Retry):
    """A retry policy of waits that are given one by one; ``retry_after`` makes one longer."""

    waits: tuple[timedelta, ...]

    def wait_after(
        self, attempt: int, error: BaseException, elapsed: timedelta, chance: random.Random
    ) -> timedelta | None:
        if attempt > len(self.waits):
            return None
        # Longer, never shorter: those who failed together shall not come back together.
        wait = self.waits[attempt - 1] * (1 + _JITTER * chance.random())
        asked = getattr(error, "retry_after", None)
        return max(wait, asked) if isinstance(asked, timedelta) else wait


# What needs no engine


async def add_endpoint(
    database: Database,
    clock: Clock,
    *,
    name: str,
    url: str,
    topics: Sequence[str] = ("#",),
    filter: str = "",
    allow_private: bool = False,
) -> NewSecret:
    """Send events there from the next one on. The secret is told in this answer and nowhere else."""
    new = check(
        NewEndpoint(name=name, url=check_url(url), topics=tuple(topics), filter=filter, allow_private=allow_private)
    )
    secret, at = new_secret(), clock.now()
    made = await database.write(lambda tx: store.add_endpoint(tx, new, secret, at))
    return NewSecret(secret=secret, about=EndpointView.of(made, now=at))


async def enable_endpoint(database: Database, clock: Clock, name: str) -> EndpointView:
    """Send what has come meanwhile, and go on."""
    await database.write(with_companion(lambda tx: store.enable_endpoint(tx, name)))
    return database.read(lambda reader: show_endpoint(reader, name, clock.now()))


async def disable_endpoint(database: Database, clock: Clock, name: str, reason: str = "") -> EndpointView:
    """Send nothing until somebody enables it; what comes meanwhile waits in the log."""
    at, why = clock.now(), reason or "disabled by a person"
    await database.write(with_companion(lambda tx: store.disable_endpoint(tx, name, why, at)))
    return database.read(lambda reader: show_endpoint(reader, name, at))


async def rotate_secret(database: Database, clock: Clock, name: str, *, overlap: timedelta) -> NewSecret:
    """Sign with a new secret, and for a while with the one before, too."""
    secret, at = new_secret(), clock.now()
    until = at + to_micros(overlap)
    await database.write(lambda tx: store.rotate_secret(tx, name, secret, until=until))
    return NewSecret(secret=secret, about=database.read(lambda reader: show_endpoint(reader, name, at)))


async def remove_endpoint(database: Database, clock: Clock, name: str) -> EndpointView:
    """Send nothing more there, not what waits either; its dead letters stay, dismissed."""
    at = clock.now()
    removed = await database.write(with_companion(lambda tx: store.remove_endpoint(tx, name, at)))
    return EndpointView.of(removed, now=at)


async def try_endpoint(
    database: Database, clock: Clock, name: str, sender: Sender, *, timeout: timedelta = TIMEOUT
) -> AttemptView:
    """Send a ping to an endpoint, once, whether it is enabled or not."""
    endpoint = database.read(lambda reader: store.endpoint(reader, name))
    at = clock.now()
    now = to_datetime(at)
    ping: Event[Any] = Event(
        id=make_event_id(at), topic=PING, subject=name, data={"endpoint": name}, source="headrace", time=now, recorded_at=now, position=0, sequence=0,
    )  # fmt: skip
    attempted, _ = await _attempt(sender, endpoint, ping, at, timeout)
    await database.write(with_companion(lambda tx: store.note_attempt(tx, name, attempted)))
    return AttemptView.of(attempted)


def show_endpoint(reader: Reader, name: str, now: Instant) -> EndpointView:
    return _views(reader, [store.endpoint(reader, name)], now)[0]


def list_endpoints(reader: Reader, now: Instant) -> EndpointList:
    return EndpointList(endpoints=_views(reader, store.endpoints(reader), now))


def _views(reader: Reader, found: Sequence[Endpoint], now: Instant) -> tuple[EndpointView, ...]:
    held, dead = count_held(reader), count_dead(reader)
    names = [subscription_of(endpoint.name) for endpoint in found]
    return tuple(
        EndpointView.of(endpoint, waiting=held.get(name, 0), dead=dead.get(name, 0), now=now)
        for endpoint, name in zip(found, names, strict=True)
    )


async def _attempt(
    sender: Sender, endpoint: Endpoint, event: Event[Any], at: Instant, timeout: timedelta
) -> tuple[Attempted, ServiceError | None]:
    error: ServiceError | None = None
    status: int | None = None
    try:
        delivered = await sender.send(
            endpoint.url, event, secrets=endpoint.secrets_at(at), timeout=timeout, at=to_datetime(at)
        )
        status = delivered.status
    except ServiceError as refused:
        error, status = refused, refused.status
    text = "" if error is None else str(error)
    return Attempted(at=at, event=event.id, topic=event.topic, status=status, error=text), error


class Endpoints:
    """Those of a running ``Headrace``: each is a subscription, whatever its pipelines are."""

    def __init__(self, database: Database, clock: Clock, delivery: Delivery, outgoing: Outgoing) -> None:
        self._database = database
        self._clock = clock
        self._delivery = delivery
        self._outgoing = outgoing
        self._senders = {private: Sender(allow_private=private) for private in (False, True)}
        """Apart, so that no connection into a private network is there for an endpoint that may not have one."""

    def open(self) -> None:
        """Before the engine opens its subscriptions."""
        for endpoint in self._database.read(store.endpoints):
            self._delivery.known[subscription_of(endpoint.name)] = self._subscribed(endpoint)

    async def close(self) -> None:
        for sender in self._senders.values():
            await sender.close()

    # What people do

    async def add(
        self, name: str, url: str, *, topics: Sequence[str] = ("#",), filter: str = "", allow_private: bool = False
    ) -> NewSecret:
        """Send events there as webhooks, from the next one on; the secret of their signatures is told this once.

        ``topics`` are patterns, ``filter`` a text such as ``'data.parcels > 1'``. Addresses of this machine and of private networks
        are refused unless ``allow_private``.
        """
        made = await add_endpoint(
            self._database, self._clock, name=name, url=url, topics=topics, filter=filter, allow_private=allow_private
        )
        subscription = made.about.subscription
        endpoint, cursors = self._database.read(
            lambda reader: (store.endpoint(reader, name), cursors_of(reader, subscription))
        )
        self._delivery.add(subscription, self._subscribed(endpoint), cursors)
        return made

    async def list(self) -> EndpointList:
        return self._database.read(lambda reader: list_endpoints(reader, self._clock.now()))

    async def show(self, name: str) -> EndpointView:
        return self._database.read(lambda reader: show_endpoint(reader, name, self._clock.now()))

    async def test(self, name: str) -> AttemptView:
        """Send a ping, once, whether the endpoint is enabled or not; the answer says how it went."""
        endpoint = self._database.read(lambda reader: store.endpoint(reader, name))
        sender = self._senders[endpoint.allow_private]
        return await try_endpoint(self._database, self._clock, name, sender, timeout=self._outgoing.timeout)

    async def enable(self, name: str) -> EndpointView:
        """Send what has come meanwhile, and go on."""
        enabled = await enable_endpoint(self._database, self._clock, name)
        self._delivery.switch(enabled.subscription, paused=False)
        return enabled

    async def disable(self, name: str, reason: str = "") -> EndpointView:
        """Send nothing until somebody enables it; what comes meanwhile waits in the log."""
        disabled = await disable_endpoint(self._database, self._clock, name, reason)
        self._delivery.switch(disabled.subscription, paused=True)
        return disabled

    async def rotate(self, name: str, *, overlap: timedelta = timedelta(days=1)) -> NewSecret:
        """Sign with a new secret, which is told this once, and for a while with the one before, too."""
        return await rotate_secret(self._database, self._clock, name, overlap=overlap)

    async def remove(self, name: str) -> EndpointView:
        """Send nothing more there, not what waits either; its dead letters stay, dismissed."""
        removed = await remove_endpoint(self._database, self._clock, name)
        self._delivery.remove(removed.subscription)
        return removed

    def check_may_resume(self, subscription: str) -> None:
        """Raises ``Conflict`` where it is that of an endpoint which is disabled: its events would fail one after the other."""
        for endpoint in self._database.read(store.endpoints):
            if subscription_of(endpoint.name) == subscription and not endpoint.enabled:
                raise Conflict(f"endpoint {endpoint.name!r} is disabled; headrace webhooks enable {endpoint.name}")

    # Delivering

    def _subscribed(self, endpoint: Endpoint) -> Subscribed:
        name = endpoint.name

        async def webhook(event: Event[Any]) -> None:
            await self._deliver(name, event)

        trigger = Trigger(
            endpoint.topics,
            webhook,
            args=None,
            name=subscription_of(name).replace(":", "."),
            where=endpoint.filter or None,
            retry=Schedule(waits=self._outgoing.waits),
            timeout=self._outgoing.timeout + _GRACE,
            since="now",
            job=None,
            parts=1,
            raw=True,
            at_once=AT_ONCE,
        )
        return Subscribed(_PIPELINE, trigger)

    async def _deliver(self, name: str, event: Event[Any]) -> None:
        """One attempt; whatever is raised makes the subscription try again."""
        endpoint = self._database.read(lambda reader: store.find_endpoint(reader, name))
        if endpoint is None or not endpoint.enabled:  # since the attempt was planned
            raise EngineUnavailable(f"endpoint {name!r} is {'gone' if endpoint is None else 'disabled'}")
        at = self._clock.now()
        sender = self._senders[endpoint.allow_private]
        attempted, error = await _attempt(sender, endpoint, event, at, self._outgoing.timeout)
        if isinstance(error, EndpointGone):
            await self._is_gone(name, attempted)
        else:
            # Not waited for: what people see of the last attempt must not hold up the next one.
            self._database.submit(lambda tx: store.note_attempt(tx, name, attempted), lambda _result, _error: None)
        if error is not None:
            raise error

    async def _is_gone(self, name: str, attempted: Attempted) -> None:
        def operation(tx: Transaction) -> None:
            store.note_attempt(tx, name, attempted)
            if store.find_endpoint(tx, name) is not None:
                store.disable_endpoint(tx, name, GONE, attempted.at)

        await self._database.write(operation)
        self._delivery.switch(subscription_of(name), paused=True)
        log.warning("webhook.disabled", endpoint=name, reason=GONE)
