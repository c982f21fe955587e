"""Webhooks in both directions, with a death at every commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from headrace import EventDraft, Pipeline, Webhook, WebhookCall
from headrace._app.incoming import WebhookAnswer
from headrace.errors import EngineUnavailable
from headrace.testing import Harness
from tests.receiver import Answer, Receiver

COMMITS = range(1, 13)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


@pytest.mark.parametrize("commit", COMMITS)
async def test_every_event_arrives_in_order_whenever_the_process_dies(receiver: Receiver, commit: int) -> None:
    """At least once, under one id, and none before the one that stands before it in the log."""
    receiver.will(Answer(500))
    async with Harness(Pipeline("quiet")) as harness:
        await harness.app.webhooks.add("billing", receiver.url, allow_private=True)
        harness.crash_once(at_commit=commit)
        for number in range(3):
            await harness.publish("n", number, subject="a", id=f"n/{number}")
        await harness.advance(timedelta(minutes=10))
        dead = await harness.app.dead_letters()

    arrived = [json.loads(came.body)["data"] for came in receiver.seen]
    first = [arrived.index(number) for number in range(3)]
    assert dead == []
    assert arrived == sorted(arrived)
    assert first == sorted(first)
    assert {came.headers["webhook-id"] for came in receiver.seen} == {"n/0", "n/1", "n/2"}


def to_event(call: WebhookCall) -> EventDraft:
    return EventDraft("came", call.body, subject="a")


async def answered(harness: Harness, id: str, body: object) -> WebhookAnswer:
    """As a sender does: again and again, until there is an answer."""
    while True:
        try:
            return await harness.app.receive_webhook("carrier", json.dumps(body).encode(), {"webhook-id": id})
        except EngineUnavailable:
            await harness.settle()


@pytest.mark.parametrize("commit", range(1, 5))
async def test_a_webhook_is_one_event_whenever_the_process_dies(commit: int) -> None:
    """The sender cannot know whether it died before or after the event was on disk."""
    async with Harness(Pipeline("shop", webhooks=[Webhook("carrier", to_event)])) as harness:
        harness.crash_once(at_commit=commit)
        answers = [await answered(harness, f"msg_{number}", number) for number in range(3)]
        events = await harness.events()

    assert [event.data for event in events] == [0, 1, 2]
    assert [answer.event for answer in answers] == [event.id for event in events]
