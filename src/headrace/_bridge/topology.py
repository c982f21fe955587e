"""What has to be there before the first message is sent, declared in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aio_pika import ExchangeType
from aio_pika.exceptions import ChannelClosed, ChannelNotFoundEntity, ChannelPreconditionFailed

from headrace._bridge.declaration import RabbitMQ
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractExchange

_DELIVERY_LIMIT = 20
_REFUSED = 403


def dead_exchange(exchange: str) -> str:
    return f"{exchange}.dead"


def dead_queue(queue: str) -> str:
    return f"{queue}.dead"


def queue_arguments(
    exchange: str, queue: str, *, delivery_limit: int = _DELIVERY_LIMIT, single_active: bool = False
) -> dict[str, str | int | bool]:
    """What a queue is declared with; whoever declares it elsewhere has to say the same."""
    arguments: dict[str, str | int | bool] = {
        "x-queue-type": "quorum",
        "x-delivery-limit": delivery_limit,
        "x-dead-letter-exchange": dead_exchange(exchange),
        "x-dead-letter-routing-key": queue,
        # Otherwise a dead letter whose queue is away for a moment is lost.
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }
    if single_active:
        arguments["x-single-active-consumer"] = True
    return arguments


async def declare(channel: AbstractChannel, bridge: RabbitMQ) -> AbstractExchange:
    """Make the exchange, the queues and the bindings of a bridge, where they are not there yet."""
    try:
        exchange = await channel.declare_exchange(bridge.exchange, ExchangeType.TOPIC, durable=True)
        if bridge.queues or bridge.feeds:
            await channel.declare_exchange(dead_exchange(bridge.exchange), ExchangeType.DIRECT, durable=True)
        for queue, topics in bridge.queues.items():
            await _declare_queue(channel, bridge, queue, topics, queue_arguments(bridge.exchange, queue))
        for feed in bridge.feeds:
            arguments = queue_arguments(
                bridge.exchange, feed.queue, delivery_limit=feed.delivery_limit, single_active=feed.single_active
            )
            await _declare_queue(channel, bridge, feed.queue, feed.topics, arguments)
    except ChannelClosed as error:
        raise ConfigurationError(explain(error)) from error
    return exchange


async def _declare_queue(
    channel: AbstractChannel,
    bridge: RabbitMQ,
    name: str,
    topics: tuple[str, ...],
    arguments: dict[str, str | int | bool],
) -> None:
    dead = await channel.declare_queue(dead_queue(name), durable=True, arguments={"x-queue-type": "quorum"})
    await dead.bind(dead_exchange(bridge.exchange), name)
    queue = await channel.declare_queue(name, durable=True, arguments=dict(arguments))
    for topic in topics:
        await queue.bind(bridge.exchange, topic)


def explain(error: ChannelClosed) -> str:
    """What the broker did not want, and what to do about it."""
    said = " ".join(str(part) for part in error.args if part not in (None, ""))
    if isinstance(error, ChannelPreconditionFailed):
        return (
            f"the broker has an exchange or a queue of that name with other properties ({said}). Properties cannot be changed: delete it once "
            "it is empty (`rabbitmqctl delete_queue NAME`), or give the bridge another name for it. One that another program declares too has to "
            "be declared there without properties (passive)"
        )
    if isinstance(error, ChannelNotFoundEntity):
        return f"the broker does not have what it was asked for ({said})"
    if error.args and error.args[0] == _REFUSED:
        return f"the broker refuses ({said}). Give the user of HEADRACE_RABBITMQ__URL the rights to configure, write and read these names"
    return f"the broker refuses ({said})"
