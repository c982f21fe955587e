"""`headrace` as a user meets it: real processes, a real file, a real kill."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e


def test_from_start_to_result(place: Place) -> None:
    """The first thing that a newcomer tries."""
    place.up()

    waited = place.run("runs", "start", "doubled", "--arg", "number=21", "--wait")
    listed = place.run("runs", "ls", "--all", "--json")

    assert (waited.code, waited.out) == (0, "42\n")
    assert [(run["id"], run["state"]) for run in listed.json["runs"]] == [("double-21", "completed")]


def test_a_killed_owner_loses_nothing(place: Place) -> None:
    """The promise of the product, seen from outside: watching goes on through the kill, too."""
    owner, _ = place.up()
    place.run("runs", "start", "nap", "--arg", "number=1", "--arg", "seconds=4")
    watching = place.begin("runs", "watch", "nap-1", "--json")
    assert watching.stdout is not None
    watching.stdout.readline()

    owner.send_signal(signal.SIGKILL)
    owner.wait()
    unowned = place.run("runs", "cancel", "nap-1", "--json")
    _, again = place.up()
    followed = watching.stdout.read()
    watching.wait(60)

    assert (unowned.code, unowned.json["error"]["code"]) == (4, "no_owner")
    assert again["preflight"]["problems"] == []
    assert watching.returncode == 0
    assert '"event": "end"' in followed.splitlines()[-1]
    assert '"result": "slept"' in followed.splitlines()[-1]


def test_message_cancel_and_retry(place: Place) -> None:
    """What an operator does by hand."""
    place.up()
    for words in (("mail", "--arg", "who=ann"), ("nap", "--arg", "number=1"), ("bad", "--arg", "number=1")):
        assert place.run("runs", "start", *words).code == 0

    sent = place.run("runs", "send", "mail-ann", "letter", "hello")
    received = place.run("runs", "result", "mail-ann", "--wait")
    cancelled = place.run("runs", "cancel", "nap-1")
    ended = place.run("runs", "result", "nap-1", "--wait", "--json")
    failed = place.run("runs", "result", "bad-1", "--wait")
    again = place.run("runs", "retry", "bad-1", "--json")

    assert (sent.code, received.out) == (0, '"hello"\n')
    assert (cancelled.code, ended.code, ended.json["run"]["state"]) == (0, 4, "cancelled")
    assert failed.code == 4
    assert "ValueError: this one fails" in failed.err
    assert (again.code, again.json["number"]) == (0, 2)


def test_history_shows_every_attempt(place: Place) -> None:
    """A step that needed three tries must not look as if it had needed one."""
    place.up()
    place.run("runs", "start", "stubborn", "--arg", "name=tries", "--wait")

    history = place.run("runs", "history", "stubborn-tries")
    as_json = place.run("runs", "history", "stubborn-tries", "--json")

    assert [line.split()[4:6] for line in history.out.splitlines()[1:]] == [
        ["1", "failed"],
        ["2", "failed"],
        ["3", "ok"],
    ]
    assert len(as_json.json["entries"][0]["failures"]) == 2


def test_reading_needs_no_owner(place: Place) -> None:
    """Looking at what happened must be possible when nothing runs any more."""
    owner, _ = place.up()
    place.run("runs", "start", "doubled", "--arg", "number=1", "--wait")
    place.run("runs", "start", "nap", "--arg", "number=1")
    owner.send_signal(signal.SIGTERM)
    owner.wait()

    assert place.run("runs", "ls", "--json").json["runs"][0]["id"] == "nap-1"
    assert place.run("runs", "show", "double-1", "--json").json["result"] == 2
    assert place.run("runs", "result", "double-1").out == "2\n"
    assert place.run("runs", "history", "nap-1").code == 0
    assert place.run("check").code == 0
    assert place.run("backup", "headrace.db", "copy.db").code == 0
    assert place.run("preflight", "flows.py", "--json").json["checked"] == 1
    assert place.run("doctor").code == 0


def test_waiting_for_what_nobody_runs_is_refused(place: Place) -> None:
    """It would wait for ever."""
    owner, _ = place.up()
    place.run("runs", "start", "nap", "--arg", "number=1")
    owner.send_signal(signal.SIGTERM)
    owner.wait()

    for command in ("watch", "result"):
        outcome = place.run("runs", command, "nap-1", *(["--wait"] if command == "result" else []))
        assert outcome.code == 4
        assert "nobody runs" in outcome.err


def test_stopping_lets_steps_end(place: Place) -> None:
    """A deployment should not make a step run twice that needs one more second."""
    owner, _ = place.up()
    place.run("runs", "start", "busy", "--arg", "number=1", "--arg", "seconds=1.5")

    owner.send_signal(signal.SIGTERM)
    code = owner.wait(30)
    history = place.run("runs", "history", "busy-1", "--json")

    assert code == 0
    assert [entry["value"] for entry in history.json["entries"]] == ["took it"]


def test_second_signal_leaves_at_once(place: Place) -> None:
    """Who presses Ctrl+C twice means it."""
    owner, up = place.up()
    place.run("runs", "start", "busy", "--arg", "number=1", "--arg", "seconds=600")
    owner.send_signal(signal.SIGINT)
    place.until(lambda: json.loads(Path(f"{up['store']}.lock").read_text())["address"] is None)

    owner.send_signal(signal.SIGINT)

    assert owner.wait(5) == 130
    assert not Path(f"{up['store']}.token").exists()


def test_second_owner_is_told_who_the_first_is(place: Place) -> None:
    """Two processes that write one file would ruin it."""
    owner, _ = place.up()

    refused = place.run("up", "flows.py", "--port", "0")

    assert refused.code == 4
    assert f"process {owner.pid}" in refused.err


def test_port_that_is_taken_is_named(place: Place) -> None:
    """The most frequent reason why a server does not start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = place.run("up", "flows.py", "--port", str(port))

    assert refused.code == 4
    assert f"port {port} is taken" in refused.err
    assert "--port 0" in refused.err


WRONG = [
    (("runs", "show", "nope"), 4, "there is no run 'nope'"),
    (("runs", "start", "nope"), 4, "there is no flow 'nope'"),
    (("runs", "start", "doubled"), 4, "needs the argument 'number'"),
    (("runs", "start", "doubled", "--arg", "number=x"), 4, "should be a valid integer"),
    (("runs", "start", "doubled", "--arg", "number"), 2, "is not NAME=VALUE"),
    (("runs", "start", "doubled", "--arg", "number={1"), 2, "is no JSON"),
    (("runs", "start", "doubled", "--input", "[1]"), 2, "not an object"),
    (("runs", "start", "doubled", "--input", "@nope"), 2, "cannot be read"),
    (("runs", "ls", "--state", "nope"), 2, "is not one of"),
    (("runs", "ls", "--store", "flows.py"), 4, "is not a file of Headrace"),
    (("runs", "ls", "--store", "nope/x.db"), 4, "there is no store"),
    (("up", "flows.py", "--store", "nope/x.db"), 4, "does not exist; make it"),
    (("up",), 2, "the TARGET is missing"),
    (("backup", "headrace.db", "flows.py"), 4, "exists already"),
]


def test_messages_say_what_to_do(place: Place) -> None:
    """One or two lines, an exit code, no stack trace."""
    place.up()

    for words, code, text in WRONG:
        outcome = place.run(*words)

        assert (outcome.code, words) == (code, words)
        assert text in outcome.err
        assert "Traceback" not in outcome.err
        assert outcome.out == ""
