"""`headrace worker`: three real processes beside an owner, one of which is killed in the middle of its work."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from typing import Any

import pytest

from headrace._base.clock import SystemClock
from headrace._events.sharing import live_workers
from headrace._ports.database import Statement
from headrace._store.location import PostgresUrl
from headrace._store.postgres import open_postgres_reader
from headrace.testing.invariants import check_invariants
from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e

PARTS = 6
SUBJECTS, NUMBERS = 8, 15
SHOP = """
import asyncio
import os

from headrace import Event, Pipeline, Statement, Transaction, flow, on, publish, step

WRITE = Statement("write", "INSERT INTO shop_written (subject, number, pid) VALUES (:subject, :number, :pid)")


async def look(event: Event[int]) -> None:
    await asyncio.sleep(0.01)
    with open("seen.txt", "a") as seen:
        seen.write(f"{event.subject} {event.data} {os.getpid()}\\n")
    await publish("looked", event.data, subject=event.subject)


@step(transactional=True)
def write(tx: Transaction, event: Event[int]) -> None:
    tx.run(WRITE, {"subject": event.subject, "number": event.data, "pid": os.getpid()})


@flow(id="reply-{event.subject}-{event.data}")
async def reply(event: Event[int]) -> int:
    return event.data


pipeline = Pipeline(
    "shop",
    flows=[reply],
    triggers=[
        on("said", look, name="look", parts=PARTS),
        on("said", write, name="write", parts=PARTS),
        on("looked", reply, name="reply", parts=PARTS, args=lambda event: (event,)),
    ],
    tables="shop_tables",
)
""".replace("PARTS", str(PARTS))
TABLE = "CREATE TABLE shop_written (pk INTEGER PRIMARY KEY, subject TEXT NOT NULL, number INTEGER NOT NULL, pid INTEGER NOT NULL);\n"
WRITTEN = Statement("written", "SELECT subject, number, pid FROM shop_written ORDER BY pk")
HOLDERS = Statement("holders", "SELECT holder FROM cursors WHERE holder IS NOT NULL")
STATES = Statement("states", "SELECT state FROM runs")
SAID = [(f"s{subject}", number) for number in range(NUMBERS) for subject in range(SUBJECTS)]


class Shop:
    """An owner that leaves all subscriptions to workers, and what they have done."""

    def __init__(self, place: Place, store: PostgresUrl) -> None:
        self.place = place
        self.store = store
        self.reader = open_postgres_reader(store)

    def all(self, statement: Statement) -> list[tuple[Any, ...]]:
        return self.reader.read(lambda rows: rows.all(statement))

    def worker(self, *words: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        process = self.place.begin("worker", "shop.py", "--json", *words)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the worker ended with {process.wait()}: {self.place.log}"
        return process, json.loads(line)

    def holders(self) -> Counter[str]:
        return Counter(holder for (holder,) in self.all(HOLDERS))

    def seen(self) -> list[tuple[str, int, int]]:
        file = self.place.folder / "seen.txt"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [(subject, int(number), int(pid)) for subject, number, pid in lines]


@pytest.fixture
def shop(place: Place, postgres: PostgresUrl) -> Any:
    (place.folder / "shop.py").write_text(SHOP)
    tables = place.folder / "shop_tables" / "migrations"
    tables.mkdir(parents=True)
    (tables.parent / "__init__.py").write_text("")
    (tables / "0001_written.sql").write_text(TABLE)
    place.variables |= {
        "HEADRACE_STORE__PATH": postgres.secret,
        "HEADRACE_STORE__POSTGRES_SCHEMA": postgres.schema,
        "HEADRACE_SUBSCRIPTIONS": "workers",
        "HEADRACE_LIMITS__LEASE": "PT1S",
        "PYTHONPATH": str(place.folder),
    }
    place.up(target="shop.py")
    made = Shop(place, postgres)
    yield made
    made.reader.close()


def publish(shop: Shop, said: list[tuple[str, int]]) -> None:
    """As a program that speaks to the owner: over HTTP, one after the other."""
    from headrace._cli.owner import OwnerClient

    owner = OwnerClient.find(shop.store)
    for subject, number in said:
        owner.post("events", body={"topic": "said", "subject": subject, "data": number})


def first_meetings(met: list[tuple[str, int]]) -> dict[str, list[int]]:
    """The numbers of each subject in the order in which each was met first."""
    found: dict[str, list[int]] = {}
    for subject, number in met:
        numbers = found.setdefault(subject, [])
        if number not in numbers:
            numbers.append(number)
    return found


@pytest.mark.slow
def test_one_of_three_is_killed_and_nothing_is_lost(shop: Shop) -> None:
    """Handlers at least once, transactional handlers and flows exactly once, each subject in order, whoever dies when."""
    workers = [shop.worker() for _ in range(3)]
    shop.place.until(lambda: len(shop.holders()) == 3)
    killed, about = workers[0]

    publish(shop, SAID[: len(SAID) // 2])
    shop.place.until(lambda: len(shop.seen()) > 5)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    publish(shop, SAID[len(SAID) // 2 :])

    shop.place.until(lambda: {item[:2] for item in shop.seen()} == set(SAID))
    shop.place.until(lambda: len(shop.all(WRITTEN)) >= len(SAID))
    shop.place.until(lambda: Counter(state for (state,) in shop.all(STATES)) == {"completed": len(SAID)})
    shop.place.until(lambda: len(shop.holders()) == 2)

    in_order = {f"s{subject}": list(range(NUMBERS)) for subject in range(SUBJECTS)}
    written = [(subject, number) for subject, number, _ in shop.all(WRITTEN)]
    seen = [(subject, number) for subject, number, _ in shop.seen()]
    twice = [item for item, times in Counter(seen).items() if times > 1]
    by_the_dead = {(subject, number) for subject, number, pid in shop.seen() if pid == killed.pid}
    assert sorted(written) == sorted(SAID)
    assert first_meetings(written) == in_order
    assert first_meetings(seen) == in_order
    assert set(twice) <= by_the_dead, "only what the dead one had done without saying so is done again"
    assert about["name"] not in shop.holders()
    assert check_invariants(shop.store) == []


@pytest.mark.slow
def test_one_that_is_stopped_hands_over_and_nothing_is_done_twice(shop: Shop) -> None:
    """SIGTERM is how deployments stop it: what is under way ends, and the others go on behind it at once."""
    workers = [shop.worker() for _ in range(3)]
    shop.place.until(lambda: len(shop.holders()) == 3)

    publish(shop, SAID[:40])
    workers[0][0].send_signal(signal.SIGTERM)
    code = workers[0][0].wait(timeout=20)
    left = shop.holders()
    publish(shop, SAID[40:80])
    shop.place.until(lambda: len(shop.seen()) >= 80 and len(shop.all(WRITTEN)) >= 80)

    alive = shop.reader.read(lambda rows: live_workers(rows, SystemClock().now()))
    assert code == 0
    assert workers[0][1]["name"] not in left
    assert {live.name for live in alive} == {about["name"] for _, about in workers[1:]}
    assert Counter(item[:2] for item in shop.seen()) == dict.fromkeys(SAID[:80], 1)
    assert Counter(item[:2] for item in shop.all(WRITTEN)) == dict.fromkeys(SAID[:80], 1)


@pytest.mark.slow
def test_the_owner_may_die_while_workers_go_on(shop: Shop) -> None:
    """Handlers need no owner; what is for it waits in the database."""
    process, _ = shop.worker()
    examined = shop.place.run("doctor", "--json")
    owner = shop.place.owners[0]
    publish(shop, SAID[:8])
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    shop.place.until(lambda: len(shop.seen()) == 8 and len(shop.all(STATES)) == 8)

    shop.place.up(target="shop.py")

    shop.place.until(lambda: Counter(state for (state,) in shop.all(STATES)) == {"completed": 8})
    workers = [item["detail"] for item in examined.json if item["about"] == "workers"]
    assert len(workers) == 1
    assert f"{process.pid} on " in workers[0]


def test_a_file_has_no_workers(place: Place) -> None:
    """Whoever tries is told what to do instead."""
    (place.folder / "shop.py").write_text(SHOP.replace('    tables="shop_tables",\n', ""))

    worker = place.run("worker", "shop.py", "--store", "a.db", "--json")
    place.variables["HEADRACE_SUBSCRIPTIONS"] = "workers"
    owner = place.run("up", "shop.py", "--store", "a.db", "--port", "0", "--json")

    for ran in (worker, owner):
        assert ran.code == 4
        assert "HEADRACE_STORE__PATH=postgresql://" in ran.json["error"]["message"]
        assert "headrace up" in ran.json["error"]["message"]


def test_a_name_that_is_none_is_refused(shop: Shop) -> None:
    """A misspelt one would stand idle for ever."""
    ran = shop.place.run("worker", "shop.py", "--subscriptions", "shop.lock", "--json")

    assert ran.code == 4
    assert "there is no subscription 'shop.lock'" in ran.json["error"]["message"]
    assert "shop.look" in ran.json["error"]["message"]
