"""The command line on a database: the same words as on a file."""

from __future__ import annotations

import signal

import pytest

from headrace._store.location import PostgresUrl
from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e


@pytest.fixture
def store(place: Place, postgres: PostgresUrl, monkeypatch: pytest.MonkeyPatch) -> PostgresUrl:
    """As in a container: the environment says where the store is."""
    variables = {"HEADRACE_STORE__PATH": postgres.secret, "HEADRACE_STORE__POSTGRES_SCHEMA": postgres.schema}
    environment = place.environment | variables
    monkeypatch.setattr(Place, "environment", environment)
    return postgres


def test_a_killed_owner_loses_nothing(place: Place, store: PostgresUrl) -> None:
    """The server has to notice that the owner is gone before the next one may come, and it does at once."""
    owner, up = place.up()
    started = place.run("runs", "start", "nap", "--arg", "number=1", "--arg", "seconds=3")

    owner.send_signal(signal.SIGKILL)
    owner.wait()
    unowned = place.run("runs", "cancel", "nap-1", "--json")
    listed = place.run("runs", "ls", "--json")
    place.up()
    waited = place.run("runs", "result", "nap-1", "--wait")

    assert (started.code, up["store"]) == (0, str(store))
    assert (unowned.code, unowned.json["error"]["code"]) == (4, "no_owner")
    assert [run["id"] for run in listed.json["runs"]] == ["nap-1"]
    assert (waited.code, waited.out) == (0, '"slept"\n')


def test_a_second_owner_is_refused(place: Place, store: PostgresUrl) -> None:
    """Whoever starts it twice by mistake is told which one to stop."""
    owner, _ = place.up()

    second = place.run("up", "flows.py", "--port", "0", "--json")

    assert (second.code, second.json["error"]["code"]) == (4, "store_owned")
    assert f"is owned by process {owner.pid} " in second.json["error"]["message"]


def test_the_doctor_knows_servers(place: Place, store: PostgresUrl) -> None:
    """Before the first start, while it runs, and without a word of the password."""
    before = place.run("doctor", "--json")
    place.up()
    after = place.run("doctor", "--json")

    found = {item["about"]: item for item in after.json}
    assert "is not there yet" in before.out
    assert "Postgres 1" in found["server"]["detail"]
    assert "fsync is off" in found["sync"]["detail"]
    assert found["store"]["detail"].startswith(f"the schema {store.schema}: 0.")
    assert "answers at http://127.0.0.1:" in found["owner"]["detail"]
    assert store.secret.split(":")[2].partition("@")[0] not in before.out + after.out


def test_what_is_for_files_says_what_is_for_servers(place: Place, store: PostgresUrl) -> None:
    """Somebody who moved to a database looks for the same commands."""
    ran = place.run("backup", store.secret, "copy.db", "--json")

    assert (ran.code, ran.json["error"]["code"]) == (4, "no_file")
    assert "pg_dump" in ran.json["error"]["hint"]


def test_a_store_is_examined_while_it_is_in_use(place: Place, store: PostgresUrl) -> None:
    """The server knows its pages; whether runs, journals and values go together only Headrace knows."""
    place.up()
    place.run("runs", "start", "nap", "--arg", "number=1", "--arg", "seconds=60")

    ran = place.run("check", "--json")
    said = place.run("check")

    assert (ran.code, ran.json["sound"], ran.json["rows"]["runs"]) == (0, True, 1)
    assert ran.json["file"] == str(store)
    assert "pg_amcheck" in said.err


def test_a_token_is_made_without_an_owner(place: Place, store: PostgresUrl) -> None:
    """The first one is needed before the server lets anybody in."""
    made = place.run("tokens", "new", "ann", "--json")
    listed = place.run("tokens", "ls", "--json")

    assert (made.code, made.json["about"]["name"]) == (0, "ann")
    assert [token["name"] for token in listed.json["tokens"]] == ["ann"]


def test_the_open_runs_are_checked_against_new_code(place: Place, store: PostgresUrl) -> None:
    """A deployment asks before it stops the old code."""
    place.up()
    place.run("runs", "start", "mail", "--arg", "who=ann")

    checked = place.run("preflight", "flows.py", "--json")

    assert (checked.code, checked.json["checked"], checked.json["problems"]) == (0, 1, [])
