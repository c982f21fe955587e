"""``RabbitMQ`` and ``Feed``: what a pipeline says about the broker it exchanges events with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from headrace._authoring.retry import Retry
from headrace._authoring.trigger import Relay, Since
from headrace._bridge.model import ReadMessage
from headrace._events.topic import check_pattern, matches_any
from headrace.errors import DefinitionError, ValueRefused

EnvelopeName = Literal["cloudevents", "job"]
_LONGEST_NAME = 200  # AMQP has room for 255 octets, and names of dead letters are longer


class Feed:
    """A queue whose messages become events of the log.

    The queue is declared (durable, quorum) and bound to the bridge's exchange by ``topics``; without topics it takes what is sent to it
    by its name. A message is acknowledged once its event is on disk. One that cannot become an event goes to the queue ``<queue>.dead``
    with the reason in its headers, and so does one that was delivered ``delivery_limit`` times in vain.

    ``prefetch`` messages are under way at the same time. ``single_active``: of all processes that read the queue one gets its messages,
    so that their order is kept. ``read`` turns a message into an ``OutsideEvent``; without it CloudEvents and job envelopes are understood.
    """

    def __init__(
        self,
        queue: str,
        *,
        topics: str | Sequence[str] = (),
        prefetch: int = 100,
        delivery_limit: int = 20,
        single_active: bool = False,
        read: ReadMessage | None = None,
    ) -> None:
        where = f"Feed({queue!r})"
        self.queue = _check_name(queue, where)
        self.topics = _patterns(topics, where)
        self.prefetch = prefetch
        self.delivery_limit = delivery_limit
        self.single_active = single_active
        self.read = read
        if not 1 <= prefetch <= 65_535:
            raise DefinitionError(f"{where}: prefetch={prefetch}; use 1 to 65535")
        if delivery_limit < 1:
            raise DefinitionError(f"{where}: delivery_limit={delivery_limit}; use 1 or more")

    def __repr__(self) -> str:
        return f"<feed from queue {self.queue}>"


class RabbitMQ:
    """A bridge between the log and a RabbitMQ broker: events of ``topics`` go to an exchange, messages of ``feeds`` become events.

    Everything that is named here is declared before the first message is sent. The exchange is a durable topic exchange, and an event's
    topic is its routing key. ``queues`` are queues of others, by name with the topics they are bound to: declared here, they miss nothing
    that is said before their readers come for the first time.

    An event counts as sent when the broker has confirmed it. One that no queue takes is tried again by ``retry``, then becomes a dead
    letter, unless its topic is ``optional``: nobody has to hear those.

    ``envelope``: ``cloudevents`` (structured, JSON) or ``job`` (``event_type``, ``job_id``, ``timestamp``, ``source``, ``payload``).
    A new bridge begins with the next event, or with ``since="beginning"``. Where the broker is, a setting says: HEADRACE_RABBITMQ__URL,
    or ``Headrace(rabbitmq=...)``.
    """

    def __init__(
        self,
        exchange: str,
        *,
        topics: str | Sequence[str] = (),
        queues: Mapping[str, Sequence[str]] | None = None,
        feeds: Sequence[Feed] = (),
        optional: str | Sequence[str] = (),
        envelope: EnvelopeName = "cloudevents",
        retry: Retry | None = None,
        since: Since = "now",
        name: str = "rabbitmq",
    ) -> None:
        where = f"RabbitMQ({exchange!r})"
        self.exchange = _check_name(exchange, where)
        self.name = _check_name(name, where)
        self.topics = _patterns(topics, where)
        self.queues = MappingProxyType({_check_name(q, where): _patterns(t, where) for q, t in (queues or {}).items()})
        self.feeds = tuple(feeds)
        self.optional = _patterns(optional, where)
        self.envelope: EnvelopeName = envelope
        self._relay = None
        if self.topics:
            target = f"exchange {exchange}"
            self._relay = Relay(self.topics, name=name, leaves_for=target, retry=retry, since=since)
        self._check(where)

    @property
    def relay(self) -> Relay | None:
        return self._relay

    def is_optional(self, topic: str) -> bool:
        return matches_any(self.optional, topic)

    def _check(self, where: str) -> None:
        if self.envelope not in ("cloudevents", "job"):
            raise DefinitionError(f"{where}: envelope={self.envelope!r}; use 'cloudevents' or 'job'")
        if not self.topics and not self.feeds:
            raise DefinitionError(
                f"{where}: it neither sends nor receives; give topics=['subtitle.#'], or feeds=[Feed(...)]"
            )
        names = [*self.queues, *(feed.queue for feed in self.feeds)]
        for twice in {queue for queue in names if names.count(queue) > 1}:
            raise DefinitionError(f"{where}: queue {twice!r} is named twice; name it once, in queues or in feeds")
        for queue, topics in self.queues.items():
            if not topics:
                raise DefinitionError(f"{where}: queue {queue!r} is bound to no topic; give it some, for example ['#']")

    def __repr__(self) -> str:
        return f"<bridge {self.name} to exchange {self.exchange}>"


def _check_name(name: str, where: str) -> str:
    if not name or len(name.encode()) > _LONGEST_NAME or not name.isprintable() or name.startswith("amq."):
        raise DefinitionError(
            f"{where}: {name!r} cannot be a name; use 1 to {_LONGEST_NAME} printable characters, not beginning with 'amq.'"
        )
    return name


def _patterns(topics: str | Sequence[str], where: str) -> tuple[str, ...]:
    try:
        return tuple(check_pattern(topic) for topic in ((topics,) if isinstance(topics, str) else topics))
    except ValueRefused as error:
        raise DefinitionError(f"{where}: {error}") from None
