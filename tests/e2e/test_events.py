"""Events, jobs, subscriptions and dead letters as an operator meets them: a real owner, a real file, real commands."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from headrace._app.event_questions import job_detail, page_of_dead_letters
from headrace._store.sqlite import open_sqlite_reader
from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e

SHOP = """
from pathlib import Path

from headrace import EventType, Lifecycle, Pipeline, Retry, flow, on, publish, receive

orders = Lifecycle(
    "order",
    moves=[
        ("order.placed", None, "placed"),
        ("order.packed", "placed", "packed"),
        ("order.sent", "packed", "sent"),
        ("order.failed", "*", "failed"),
        ("order.cancelled", "*", "cancelled"),
    ],
    terminal=["sent", "failed", "cancelled"],
    retry=("order.retried", "placed"),
    ends={"completed": "order.sent", "failed": "order.failed", "cancelled": "order.cancelled"},
)


@flow(id="deliver-{order}")
async def deliver(order: str) -> str:
    await publish("order.packed", {"boxes": 1})
    if order.startswith("bad"):
        raise LookupError("nobody lives there")
    if order.startswith("slow"):
        await receive("go", str)
    return "by bike"


def tell(event) -> None:
    if Path("broken").exists():
        raise ConnectionError(f"cannot tell {event.subject}")
    with open("told", "a") as told:
        told.write(f"{event.subject}\\n")


pipeline = Pipeline(
    "shop",
    flows=[deliver],
    lifecycles=[orders],
    events=[EventType("news.counted", int)],
    triggers=[
        on(("order.placed", "order.retried"), deliver, args=lambda event: (event.subject,), job=orders),
        on("news.#", tell, retry=Retry(attempts=1)),
    ],
)
"""


@pytest.fixture
def shop(place: Place) -> Place:
    (place.folder / "shop.py").write_text(SHOP)
    return place


def told(shop: Place) -> list[str]:
    file = shop.folder / "told"
    return file.read_text().split() if file.exists() else []


def ask(up: Any, path: str) -> Any:
    """The same question over HTTP."""
    token = Path(f"{up['store']}.token").read_text()
    request = urllib.request.Request(f"{up['address']}/api/{path}", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def state_of(shop: Place, order: str) -> str:
    """Read from the file; a command for each look would take the test most of its time."""
    with open_sqlite_reader(shop.folder / "headrace.db") as reader:
        return reader.read(lambda rows: job_detail(rows, "order", order)).job.state


def count_dead(shop: Place) -> int:
    with open_sqlite_reader(shop.folder / "headrace.db") as reader:
        return len(reader.read(page_of_dead_letters).letters)


def test_what_is_published_can_be_read_in_every_way(shop: Place) -> None:
    """Typed, from a file, from a pipe; and the commands give the objects of the API."""
    _, up = shop.up(target="shop.py")
    (shop.folder / "data.json").write_text('{"from": "a file"}')

    typed = shop.run("events", "publish", "news.came", "--subject", "a", "--data", '{"from": "me"}', "--id", "n/1")
    again = shop.run("events", "publish", "news.came", "--subject", "b", "--id", "n/1", "--json")
    shop.run("events", "publish", "news.came", "--subject", "a", "--data-file", "data.json", "--source", "cron")
    shop.run("events", "publish", "news.came", "--subject", "a", "--data-file", "-", text='{"from": "a pipe"}')
    refused = shop.run("events", "publish", "news.counted", "--subject", "a", "--data", "many")
    history = shop.run("events", "history", "a", "--json")

    assert typed.out == "news.came about a: position 1, id n/1\n"
    assert (again.json["duplicate"], again.json["subject"]) == (True, "a")
    assert (refused.code, "valid integer" in refused.err) == (4, True)
    assert [event["data"]["from"] for event in history.json["events"]] == ["a pipe", "a file", "me"]
    assert [event["source"] for event in history.json["events"]] == ["cli", "cron", "cli"]
    assert history.json == ask(up, "events/history?subject=a")
    assert shop.run("events", "show", "n/1", "--json").json == ask(up, "events/1")
    assert shop.run("events", "topics", "--json").json == ask(up, "events/topics")
    assert shop.run("events", "subscriptions", "--json").json == ask(up, "events/subscriptions")


def test_whoever_follows_sees_events_as_they_come(shop: Place) -> None:
    """In both forms, each as soon as it is in the log, through a restart of the owner, until Ctrl+C."""
    owner, _ = shop.up(target="shop.py")
    shop.run("events", "publish", "news.came", "--subject", "before")
    as_json = shop.begin("events", "tail", "news.#", "-f", "--json")
    as_text = shop.begin("events", "tail", "news.#", "-f")
    assert as_json.stdout is not None
    assert as_text.stdout is not None
    first = json.loads(as_json.stdout.readline())
    head, row = as_text.stdout.readline(), as_text.stdout.readline()

    shop.run("events", "publish", "letter.came", "--subject", "other")
    owner.send_signal(signal.SIGTERM)
    owner.wait()
    shop.up(target="shop.py")
    shop.run("events", "publish", "news.came", "--subject", "after", "--data", "hello")
    second, second_row = json.loads(as_json.stdout.readline()), as_text.stdout.readline()
    for process in (as_json, as_text):
        process.send_signal(signal.SIGINT)

    assert (first["subject"], second["subject"], second["data"]) == ("before", "after", "hello")
    assert head.split()[0] == "POSITION"
    assert "before" in row
    assert second_row.split()[-1] == '"hello"'
    assert [process.wait(20) for process in (as_json, as_text)] == [0, 0]


def test_a_job_from_its_first_event_to_its_retry(shop: Place) -> None:
    """What moved it, what did not and why, and a second life."""
    _, up = shop.up(target="shop.py")
    for order in ("o-1", "bad-1"):
        shop.run("events", "publish", "order.placed", "--subject", order)
    shop.until(lambda: state_of(shop, "o-1") == "sent" and state_of(shop, "bad-1") == "failed")
    late = shop.run("events", "publish", "order.packed", "--subject", "o-1")
    shown = shop.run("jobs", "show", "order", "o-1")
    as_json = shop.run("jobs", "show", "order", "o-1", "--json")
    listed = shop.run("jobs", "ls", "order", "--state", "failed")
    again = shop.run("jobs", "retry", "order", "bad-1")
    shop.until(lambda: state_of(shop, "bad-1") == "failed")
    runs = shop.run("jobs", "show", "order", "bad-1", "--json").json["runs"]
    once_more = shop.run("jobs", "retry", "order", "bad-1", "--json")

    assert "the job has not moved: it came too late" in late.out
    assert "it came too late" in shown.out
    assert as_json.json == ask(up, "jobs/order/o-1")
    assert [line.split()[:3] for line in listed.out.splitlines()[1:]] == [["failed", "order", "bad-1"]]
    assert again.out == "order/bad-1 begins again, in generation 2\n"
    assert [(run["id"], run["number"]) for run in runs] == [("deliver-bad-1", 2), ("deliver-bad-1", 1)]
    assert once_more.json["generation"] == 3


def test_a_job_is_cancelled_with_its_run(shop: Place) -> None:
    """Whoever stops the one means both."""
    shop.up(target="shop.py")
    for order in ("slow-1", "slow-2"):
        shop.run("events", "publish", "order.placed", "--subject", order)
        shop.until(lambda order=order: state_of(shop, order) == "packed")  # type: ignore[misc]  # mypy cannot infer a lambda with a default

    asked = shop.run("jobs", "cancel", "order", "slow-1")
    as_json = shop.run("jobs", "cancel", "order", "slow-2", "--json")
    shop.until(lambda: state_of(shop, "slow-1") == state_of(shop, "slow-2") == "cancelled")
    refused = shop.run("jobs", "cancel", "order", "slow-1")
    too_early = shop.run("jobs", "retry", "order", "nope")

    assert asked.code == 0
    assert as_json.json["job"]["id"] == "slow-2"
    assert shop.run("runs", "result", "deliver-slow-1", "--json").json["run"]["state"] == "cancelled"
    assert (refused.code, "has ended already" in refused.err) == (4, True)
    assert (too_early.code, "there is no job" in too_early.err) == (4, True)


def test_dead_letters_are_looked_at_tried_again_and_dismissed(shop: Place) -> None:
    """The way of an operator from the alarm to silence."""
    (shop.folder / "broken").touch()
    _, up = shop.up(target="shop.py")
    for subject in ("a", "b", "c", "d"):
        shop.run("events", "publish", "news.came", "--subject", subject)
    shop.until(lambda: count_dead(shop) == 4)
    listed = shop.run("deadletters", "ls", "--subscription", "shop.tell")
    letters = {one["event"]["subject"]: one for one in shop.run("deadletters", "ls", "--json").json["letters"]}
    over_http = ask(up, "deadletters")
    dismissed = shop.run("deadletters", "dismiss", str(letters["d"]["id"]), "--json")
    (shop.folder / "broken").unlink()

    one = shop.run("deadletters", "redrive", str(letters["c"]["id"]))
    shop.until(lambda: told(shop) == ["c"])
    rest = shop.run("deadletters", "redrive", "--all", "--json")
    shop.until(lambda: sorted(told(shop)) == ["a", "b", "c"])
    refused = shop.run("deadletters", "redrive", str(letters["d"]["id"]))
    settled = shop.run("deadletters", "ls", "--all")

    assert [line.split()[:3] for line in listed.out.splitlines()[1:]] == [["dead", "4", "shop.tell"]]
    assert over_http == {"letters": list(letters.values()), "next": None}
    assert (dismissed.json["state"], one.out) == ("dismissed", f"dead letter {letters['c']['id']} is tried again\n")
    assert rest.json == {"letters": 2}
    assert (refused.code, "is dismissed" in refused.err) == (4, True)
    assert shop.run("deadletters", "ls").out == ""
    assert shop.run("deadletters", "redrive", "--all").out == "There is nothing to try again.\n"
    assert [line.split()[:2] for line in settled.out.splitlines()[1:]] == [["dismissed", "1"], ["handled", "3"]]


def test_a_subscription_is_paused_and_goes_on(shop: Place) -> None:
    """The outside service is repaired, and nothing is lost meanwhile; a pause outlives the owner."""
    owner, _ = shop.up(target="shop.py")
    paused = shop.run("events", "pause", "shop.tell")
    shop.run("events", "publish", "news.came", "--subject", "a")
    owner.send_signal(signal.SIGTERM)
    owner.wait()
    without_owner = shop.run("events", "subscriptions")
    shop.up(target="shop.py")
    listed = shop.run("events", "subscriptions")
    before = told(shop)
    resumed = shop.run("events", "resume", "shop.tell", "--json")
    shop.until(lambda: told(shop) == ["a"])

    assert paused.out.startswith("shop.tell is paused")
    for outcome in (without_owner, listed):
        assert ["paused", "shop.tell"] in [line.split()[:2] for line in outcome.out.splitlines()]
    assert "news.#" not in without_owner.out
    assert "news.#" in listed.out
    assert before == []
    assert resumed.json == {"name": "shop.tell", "paused": False}


def test_a_range_is_replayed_to_one_subscription(shop: Place) -> None:
    """After a defect was mended: counted first, then done."""
    shop.up(target="shop.py")
    for subject in ("a", "b", "c"):
        shop.run("events", "publish", "news.came", "--subject", subject)
    shop.until(lambda: len(told(shop)) == 3)
    moment = shop.run("events", "show", "2", "--json").json["recorded_at"]

    counted = shop.run("events", "replay", "shop.tell", "--after", "0", "--dry-run")
    ranged = shop.run("events", "replay", "shop.tell", "--after", "0", "--until", "1", "--json")
    shop.until(lambda: len(told(shop)) == 4)
    since = shop.run("events", "replay", "shop.tell", "--since", moment)
    shop.until(lambda: len(told(shop)) == 6)
    unknown = shop.run("events", "replay", "shop.tall", "--after", "0")

    assert counted.out == "it would be 3 events\n"
    assert ranged.json["events"] == 1
    assert since.out.endswith(": 2 events once more\n")
    assert told(shop)[3] == "a"
    assert sorted(told(shop)[4:]) == ["b", "c"]
    assert (unknown.code, "there is no subscription 'shop.tall'" in unknown.err) == (4, True)


def test_reading_needs_no_owner(shop: Place) -> None:
    """Looking at what happened must be possible when nothing runs any more; changing is not."""
    owner, _ = shop.up(target="shop.py")
    shop.run("events", "publish", "order.placed", "--subject", "o-1")
    shop.until(lambda: state_of(shop, "o-1") == "sent")
    owner.send_signal(signal.SIGTERM)
    owner.wait()

    tailed, shown = shop.run("events", "tail", "order.sent", "--json"), shop.run("jobs", "show", "order", "o-1")
    refused = shop.run("jobs", "retry", "order", "o-1", "--json")

    assert (tailed.code, tailed.json["subject"]) == (0, "o-1")
    assert (shown.code, "sent (has ended)" in shown.out) == (0, True)
    assert (refused.code, refused.json["error"]["code"]) == (4, "no_owner")


def test_up_says_who_reads_what(shop: Place) -> None:
    """The name of a subscription is needed for everything that people do to it."""
    _, up = shop.up(target="shop.py")
    as_text = shop.begin("up", "shop.py", "--port", "0", "--store", "other.db")
    assert as_text.stdout is not None
    lines = [as_text.stdout.readline().strip() for _ in range(7)]

    assert up["subscriptions"] == {"shop": {"shop.deliver": ["order.placed", "order.retried"], "shop.tell": ["news.#"]}}
    begin = lines.index("Pipeline   shop: deliver")
    assert lines[begin + 1 : begin + 3] == ["shop.deliver reads order.placed, order.retried", "shop.tell reads news.#"]
