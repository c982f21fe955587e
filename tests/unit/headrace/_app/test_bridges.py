"""Bridges that are off, cannot be made, or lead nowhere. Brokers that are there are asked elsewhere."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headrace import EventType, Feed, Headrace, Pipeline, RabbitMQ
from headrace._app.examination import examine_bridge
from headrace._bridge.link import broker_of
from headrace._bridge.model import BridgeView, FeedView
from headrace.errors import ConfigurationError
from headrace.testing import Harness

NOWHERE = "amqp://127.0.0.1:1/"


def sending() -> Pipeline:
    bridge = RabbitMQ("events", topics=["subtitle.*"], queues={"others": ["subtitle.*"]}, feeds=[Feed("results")])
    types: list[EventType[Any]] = [EventType("subtitle.ready"), EventType("subtitle.download.requested")]
    return Pipeline("p", bridges=[bridge], events=types)


async def test_without_a_url_bridges_are_off_and_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A laptop has no broker, and the same pipeline runs there."""
    async with Headrace([sending()], store=tmp_path / "h.db") as app:
        await app.publish("subtitle.ready", subject="s")
        (view,) = app.bridges
        subscriptions = await app.subscriptions()

    assert (view.name, view.state, view.exchange, view.broker, view.behind) == ("p.rabbitmq", "off", "events", "", 0)
    assert [feed.queue for feed in view.feeds] == ["results"]
    assert "bridge.off bridge='p.rabbitmq' hint='set HEADRACE_RABBITMQ__URL'" in caplog.text
    assert subscriptions == []


async def test_stand_ins_speak_to_no_real_broker(tmp_path: Path) -> None:
    """A demonstration must not reach those who listen to the real one."""
    async with Headrace([sending()], store=tmp_path / "h.db", stand_ins=True, rabbitmq=NOWHERE) as app:
        assert app.bridges[0].state == "off"


async def test_a_harness_has_no_broker() -> None:
    """Tests of a pipeline need none."""
    async with Harness(sending()) as harness:
        await harness.publish("subtitle.ready", subject="s")
        await harness.settle()

        assert harness.app.bridges[0].state == "off"


async def test_a_broker_that_is_not_there_keeps_nothing_from_starting(tmp_path: Path) -> None:
    """What is published waits in the log, and everybody can see why."""
    async with Headrace([sending()], store=tmp_path / "h.db", rabbitmq=NOWHERE) as app:
        await app.publish("subtitle.ready", subject="s")
        (view,) = app.bridges
        (subscription,) = await app.subscriptions()

    assert view.state in ("connecting", "waiting")
    assert (view.broker, view.behind) == ("127.0.0.1:1", 1)
    assert (subscription.target, subscription.topics) == ("exchange events", ("subtitle.*",))
    assert subscription.trouble.startswith("no connection to 127.0.0.1:1: ")


async def test_a_pattern_that_misses_declared_topics_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Half of the events of a system were lost for weeks by this."""
    async with Headrace([sending()], store=tmp_path / "h.db"):
        pass

    told = [record.message for record in caplog.records if "bridge.pattern_misses" in record.message]
    assert len(told) == 2
    assert "missed='subtitle.download.requested' use='subtitle.#'" in told[0]


async def test_a_missing_package_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "headrace._bridge.link", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'headrace\[rabbitmq\]'"):
        await Headrace([sending()], store=tmp_path / "h.db", rabbitmq=NOWHERE).__aenter__()


async def test_a_url_is_of_no_use_without_bridges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting may stand in the environment of several programs."""
    monkeypatch.setitem(sys.modules, "headrace._bridge.link", None)
    async with Headrace([Pipeline("p")], store=tmp_path / "h.db", rabbitmq=NOWHERE) as app:
        assert app.bridges == ()


@pytest.mark.parametrize("url", ["", "gibberish", "http://gibberish/", "amqp:///gibberish", "amqp://gibberish:port/"])
async def test_a_url_that_leads_nowhere_is_refused_at_the_start(url: str, tmp_path: Path) -> None:
    """And not shown: it may have a password in it."""
    with pytest.raises(ConfigurationError, match="HEADRACE_RABBITMQ__URL is no URL of a broker") as refused:
        await Headrace([sending()], store=tmp_path / "h.db", rabbitmq=url).__aenter__()

    assert "gibberish" not in str(refused.value)


@pytest.mark.parametrize(
    "url, shown",
    [
        ("amqp://broker", "broker:5672"),
        ("amqps://broker/", "broker:5671"),
        ("amqp://broker:7/staging", "broker:7/staging"),
        ("amqp://[fd00::5]/", "[fd00::5]:5672"),
        ("amqp://me:" + "mine@broker/", "broker:5672"),
    ],
)
def test_a_broker_is_shown_without_who_goes_there(url: str, shown: str) -> None:
    """Pages and logs have many readers."""
    assert broker_of(url) == shown


SINCE = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def view(state: str, **more: object) -> BridgeView:
    known: dict[str, object] = {
        "name": "p.rabbitmq", "exchange": "events", "broker": "broker:5672", "state": state, "since": SINCE, "error": "", "next_at": None,
        "sending": 0, "confirmed": 7, "unroutable": 0, "behind": 0, "lag": 0.0, "feeds": (),
    }  # fmt: skip
    return BridgeView(**(known | more))  # type: ignore[arg-type]  # the fields are written out above


@pytest.mark.parametrize(
    "bridge, verdict, words",
    [
        (view("connected"), "ok", "connected to broker:5672 since 2026-02-03 04:05:06 UTC, 7 sent"),
        (view("connected", behind=3, lag=1.6), "ok", "; 3 positions of the log behind, 2 s"),
        (view("waiting", error="refused", behind=3), "warn", "no connection to broker:5672"),
        (view("connecting"), "warn", ": trying"),
        (view("off"), "warn", "is off"),
        (view("connected", feeds=(FeedView(queue="q", taken=1, known=0, refused=2),)), "warn", "2 messages refused"),
    ],
)
def test_the_doctor_looks_at_bridges(bridge: BridgeView, verdict: str, words: str) -> None:
    """What waits for a broker is seen where people look first."""
    finding = examine_bridge(bridge)

    assert (finding.verdict, finding.about) == (verdict, "p.rabbitmq")
    assert words in finding.detail
