"""What a pipeline may say about its broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Event, Feed, Pipeline, RabbitMQ, on
from headrace.errors import DefinitionError


async def note(event: Event[None]) -> None: ...


def test_a_bridge_says_where_events_leave_for() -> None:
    """That is what the list of subscriptions shows."""
    bridge = RabbitMQ("subtitle.events", topics="subtitle.#", since="beginning")

    assert bridge.relay is not None
    assert (bridge.relay.name, bridge.relay.patterns, bridge.relay.since) == (
        "rabbitmq",
        ("subtitle.#",),
        "beginning",
    )
    assert bridge.relay.leaves_for == "exchange subtitle.events"


def test_a_bridge_that_only_receives_is_no_subscription() -> None:
    """It would move a cursor for nothing."""
    assert RabbitMQ("results", feeds=[Feed("results.in")]).relay is None


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: RabbitMQ("", topics="#"), "cannot be a name"),
        (lambda: RabbitMQ("x" * 201, topics="#"), "cannot be a name"),
        (lambda: RabbitMQ("amq.topic", topics="#"), "not beginning with 'amq.'"),
        (lambda: RabbitMQ("e"), "it neither sends nor receives"),
        (lambda: RabbitMQ("e", topics="a b"), "topic pattern"),
        (lambda: RabbitMQ("e", topics="#", envelope="xml"), "use 'cloudevents' or 'job'"),  # type: ignore[arg-type]  # the mistake
        (lambda: RabbitMQ("e", topics="#", queues={"q": []}), "bound to no topic"),
        (lambda: RabbitMQ("e", topics="#", queues={"q": ["#"]}, feeds=[Feed("q")]), "'q' is named twice"),
        (lambda: RabbitMQ("e", feeds=[Feed("q"), Feed("q")]), "'q' is named twice"),
        (lambda: Feed("q", prefetch=0), "prefetch=0"),
        (lambda: Feed("q", prefetch=70_000), "prefetch=70000"),
        (lambda: Feed("q", delivery_limit=0), "delivery_limit=0"),
        (lambda: Pipeline("p", bridges=["amqp://"]), "is no bridge; write RabbitMQ"),  # type: ignore[list-item]  # the mistake
        (lambda: Pipeline("p", bridges=[RabbitMQ("a", topics="#"), RabbitMQ("b", topics="#")]), "called 'rabbitmq'"),
        (
            lambda: Pipeline("p", bridges=[RabbitMQ("a", topics="#", name="note")], triggers=[on("x", note)]),
            "called 'note'",
        ),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(make: Callable[[], object], message: str) -> None:
    """At import, not when the first message is lost."""
    with pytest.raises(DefinitionError, match=message):
        make()
