"""Looking at endpoints."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace import Pipeline
from headrace._app.endpoints import Outgoing
from headrace._cli.main import main
from headrace.testing import Harness


async def fill(path: Path) -> None:
    """One that nothing has reached yet, one that cannot be reached."""
    async with Harness(Pipeline("quiet"), store=path) as harness:
        await harness.app.webhooks.add("audit", "https://example.org/audit", topics=["never"])
        await harness.app.webhooks.add(
            "billing", "http://127.0.0.1:9/hooks", topics=["order.#", "a"], filter="data != 2"
        )
        await harness.publish("order.paid", 1, subject="o-1", id="paid/1")
        await harness.advance(sum(Outgoing().waits, Outgoing().timeout) * 2)
        await harness.publish("order.paid", 3, subject="o-2")
        await harness.settle()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("webhooks") / "a.db"
    asyncio.run(fill(path))
    return path


def call(store: Path, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store)])


def test_the_list_says_how_it_goes(store: Path) -> None:
    """At a glance: what works, what does not, what waits and what is dead."""
    rows = [line.split() for line in call(store, "webhooks", "ls").stdout.splitlines()]

    assert rows[0][:4] == ["STATE", "NAME", "URL", "TOPICS"]
    assert rows[1][:4] == ["enabled", "audit", "https://example.org/audit", "never"]
    assert rows[1][-4:] == ["none", "yet", "0", "0"]
    assert rows[2][:2] == ["enabled", "billing"]
    assert rows[2][-2:] == ["1", "1"]


def test_one_is_shown_with_all_that_is_known(store: Path) -> None:
    """What an operator asks when the other side says that nothing comes."""
    shown = call(store, "webhooks", "show", "billing").stdout

    for word in ("order.#, a", "data != 2", "failed, no answer", "--allow-private", "9 in a row", "webhook:billing", "deadletters ls"):  # fmt: skip
        assert word in shown


def test_as_json_it_is_what_the_api_says(store: Path) -> None:
    """Without secrets."""
    listed = json.loads(call(store, "webhooks", "ls", "--json").stdout)["endpoints"]
    shown = json.loads(call(store, "webhooks", "show", "billing", "--json").stdout)

    assert listed[1] == shown
    assert (shown["waiting"], shown["dead"], shown["last"]["status"], shown["failures"]) == (1, 1, None, 9)
    assert "whsec_" not in json.dumps(listed)


def test_what_could_not_be_delivered_is_among_the_dead_letters(store: Path) -> None:
    """One place for all that was given up."""
    letters = json.loads(call(store, "deadletters", "ls", "--json").stdout)["letters"]

    assert [(letter["subscription"], letter["event"]["id"]) for letter in letters] == [("webhook:billing", "paid/1")]
