"""A bridge as an operator meets it: at the start, in the doctor, among the subscriptions, in the numbers."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from tests.broker import url_at
from tests.durability.outsider import new_name
from tests.e2e.conftest import Place

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

ABROAD = """
from headrace import Feed, Pipeline, RabbitMQ

pipeline = Pipeline(
    "abroad",
    bridges=[RabbitMQ("NAME.events", topics=["news.#"], queues={"NAME.all": ["#"]}, feeds=[Feed("NAME.in")])],
)
"""


@pytest.fixture
def abroad(place: Place) -> Place:
    (place.folder / "abroad.py").write_text(ABROAD.replace("NAME", new_name()))
    return place


def metrics(up: Any) -> dict[str, float]:
    with urllib.request.urlopen(f"{up['address']}/metrics") as answer:
        lines = [line for line in answer.read().decode().splitlines() if line.startswith("headrace_bridge")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def finding(abroad: Place) -> Any:
    (found,) = [one for one in abroad.run("doctor", "--json").json if one["about"] == "abroad.rabbitmq"]
    return found


def test_a_bridge_that_is_off_says_how_to_turn_it_on(abroad: Place) -> None:
    """Otherwise somebody waits for events that nobody sends."""
    process, up = abroad.up(target="abroad.py")
    process.kill()
    process.wait()
    plain = abroad.begin("up", "abroad.py", "--port", "0")
    assert plain.stdout is not None
    lines = [plain.stdout.readline() for _ in range(7)]

    assert up["bridges"] == {"abroad.rabbitmq": "off"}
    assert any("abroad.rabbitmq is off; set HEADRACE_RABBITMQ__URL to turn it on" in line for line in lines)
    assert finding(abroad)["verdict"] == "warn"


def test_an_operator_sees_how_a_bridge_does(abroad: Place, broker: int) -> None:
    """Connected, then without its broker: the state, the backlog, and where it stands."""
    abroad.variables["HEADRACE_RABBITMQ__URL"] = url_at(broker)
    process, up = abroad.up(target="abroad.py")
    abroad.run("events", "publish", "news.came", "--subject", "a")
    abroad.until(lambda: metrics(up)['headrace_bridge_confirmed_total{bridge="abroad.rabbitmq"}'] == 1)
    with_broker, good = metrics(up), finding(abroad)
    subscribed = abroad.run("events", "subscriptions").out
    process.kill()
    process.wait()

    abroad.variables["HEADRACE_RABBITMQ__URL"] = "amqp://127.0.0.1:1/"
    _, up = abroad.up(target="abroad.py")
    abroad.run("events", "publish", "news.came", "--subject", "a")
    without, bad = metrics(up), finding(abroad)
    waits = abroad.run("events", "subscriptions")

    assert with_broker['headrace_bridge_connected{bridge="abroad.rabbitmq"}'] == 1
    assert with_broker['headrace_bridge_behind{bridge="abroad.rabbitmq"}'] == 0
    assert (good["verdict"], "1 sent" in good["detail"]) == ("ok", True)
    assert "reads" in subscribed
    assert "exchange " in subscribed
    assert without['headrace_bridge_connected{bridge="abroad.rabbitmq"}'] == 0
    assert without['headrace_bridge_behind{bridge="abroad.rabbitmq"}'] == 1
    assert without['headrace_bridge_lag_seconds{bridge="abroad.rabbitmq"}'] > 0
    assert (bad["verdict"], "no connection to 127.0.0.1:1" in bad["detail"]) == ("warn", True)
    assert "waits" in waits.out
    assert "abroad.rabbitmq waits: no connection to 127.0.0.1:1" in waits.err
