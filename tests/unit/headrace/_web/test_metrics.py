"""Numbers for Prometheus."""

from __future__ import annotations

import re

import httpx2
import pytest

from headrace import Headrace
from headrace._web.metrics import METRICS, Measured, Metric, as_text
from tests.unit.headrace._web.conftest import bad, doubled, long

LINE = re.compile(r'(?P<name>[a-z_]+)(\{(?P<labels>[a-z]+="[^"]*"(,[a-z]+="[^"]*")*)\})? (?P<value>[0-9.e+-]+)')


async def numbers(client: httpx2.AsyncClient) -> dict[str, float]:
    """Each line that is no comment, read as Prometheus would."""
    answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            match = LINE.fullmatch(line)
            assert match is not None, line
            found[line.rpartition(" ")[0]] = float(match["value"])
    return found


async def test_what_has_happened_is_counted(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A number that does not move is worse than none."""
    for number in range(3):
        await app.run(doubled, number)
    await app.start(long, 1)
    failed = await app.start(bad, 1)
    await client.get(f"/api/runs/{failed.id}/result", params={"wait": 30})

    found = await numbers(client)

    assert found["headrace_runs_started_total"] == 5
    assert found['headrace_runs_ended_total{state="completed"}'] == 3
    assert found['headrace_runs_ended_total{state="failed"}'] == 1
    assert found["headrace_step_attempts_started_total"] == 3
    assert found['headrace_steps_ended_total{outcome="ok"}'] == 3
    assert found['headrace_runs_open{state="waiting"}'] == 1
    assert found['headrace_runs_open{state="blocked"}'] == 0  # an alert on what was never seen would never fire
    assert found["headrace_timers_open"] == 1
    assert 1 <= found["headrace_store_transactions_total"] <= found["headrace_store_operations_total"]
    assert found['headrace_store_bytes{part="file"}'] + found['headrace_store_bytes{part="log"}'] > 0
    assert found["headrace_ready"] == 1


async def test_every_metric_is_told_with_its_kind(client: httpx2.AsyncClient) -> None:
    """What is documented is there."""
    text = (await client.get("/metrics")).text

    for metric in METRICS:
        assert f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n" in text


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_follow_the_custom(metric: Metric) -> None:
    """Dashboards and alerts are written by it."""
    assert re.fullmatch(r"headrace_[a-z_]+", metric.name)
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert "\\" not in metric.help
    assert "\n" not in metric.help


def test_labels_cannot_break_a_line(measured: Measured) -> None:
    """Names come from users."""
    odd = Metric(name="odd", kind="gauge", help="Odd.", labels=("name",), read=lambda _: [({"name": 'a"b\\c\nd'}, 1)])

    assert as_text(measured, [odd]).splitlines()[-1] == 'odd{name="a\\"b\\\\c\\nd"} 1'


@pytest.fixture
def measured() -> Measured:
    return None  # type: ignore[return-value]  # the metric of that test looks at nothing


async def test_after_a_failure_it_says_not_ready(app: Headrace, client: httpx2.AsyncClient) -> None:
    """That is when somebody looks."""
    app.engine.fail(OSError("the disk is gone"))

    assert (await numbers(client))["headrace_ready"] == 0
