"""The server of a real process: who is let in, what is told, how it stops."""

from __future__ import annotations

import signal
import stat
from pathlib import Path

import httpx2
import pytest

from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_others_are_not_let_in_without_a_token(place: Place) -> None:
    """A server that is open to everybody is never what somebody wanted."""
    refused = place.run("up", "flows.py", "--host", "0.0.0.0", "--port", "0")
    place.variables["HEADRACE_SERVER__HOSTS"] = "runs.example"
    proxied = place.run("up", "flows.py", "--port", "0")

    assert [refused.code, proxied.code] == [4, 4]
    assert "headrace tokens new" in refused.err
    assert "127.0.0.1" in refused.err
    assert "Traceback" not in refused.err + proxied.err


def test_with_a_token_others_are_let_in(place: Place) -> None:
    """Each as far as its token reaches; the command line of this machine goes on as before."""
    token = place.run("tokens", "new", "grafana").out.strip()
    _, up = place.up("--host", "0.0.0.0")

    with httpx2.Client(base_url=up["address"]) as client:
        without = client.get("/api/runs")
        health = client.get("/healthz")
        looked = client.get("/api/runs", headers=bearer(token))
        changed = client.post("/api/runs", json={"flow": "doubled", "arguments": {"number": 1}}, headers=bearer(token))
        measured = client.get("/metrics", headers=bearer(token))
    own = place.run("runs", "start", "doubled", "--arg", "number=2", "--wait")

    assert [answer.status_code for answer in (without, health, looked, changed, measured)] == [401, 200, 200, 403, 200]
    assert (own.code, own.out) == (0, "4\n")


def test_tokens_are_made_and_revoked_while_it_runs(place: Place) -> None:
    """To change a token nothing has to stop."""
    place.variables["HEADRACE_SERVER__TOKENS"] = "always"
    _, up = place.up()

    first = place.run("tokens", "new", "ci", "--scope", "operate").out.strip()
    second = place.run("tokens", "new", "ci-2", "--scope", "operate").out.strip()
    revoked = place.run("tokens", "revoke", "ci")
    listed = place.run("tokens", "ls", "--json")
    with httpx2.Client(base_url=up["address"]) as client:
        answers = [client.get("/api/runs", headers=bearer(token)).status_code for token in (first, second, "nope")]

    assert (revoked.code, revoked.out) == (0, "Token 'ci' is revoked.\n")
    assert [token["name"] for token in listed.json["tokens"]] == ["ci-2"]
    assert answers == [401, 200, 401]


def test_secrets_are_in_no_log_and_no_output(place: Place) -> None:
    """Logs are kept for long, and read by many."""
    place.variables["HEADRACE_LOG__LEVEL"] = "debug"
    place.variables["HEADRACE_SERVER__TOKENS"] = "always"
    owner, up = place.up()
    token = place.run("tokens", "new", "ci", "--scope", "admin").out.strip()
    own = Path(f"{up['store']}.token").read_text()
    with httpx2.Client(base_url=up["address"]) as client:
        client.post("/login", data={"token": token})
        session = next(iter(client.cookies.values()))
        said = [client.get(path, headers=bearer(token)).text for path in ("/api/status", "/api/tokens", "/nope")]
        said.append(client.get("/api/runs", headers=bearer(token + "x")).text)
        client.post("/login", data={"token": token + "y"})
    told = [place.run(*words) for words in (("config",), ("doctor",), ("tokens", "ls", "--all", "--json"))]
    owner.send_signal(signal.SIGTERM)
    owner.wait()

    everything = place.log + "".join(said) + "".join(outcome.out + outcome.err for outcome in told)
    assert "access.logged_in" in everything
    assert "access.refused" in everything
    for secret in (token.rpartition("_")[2], own, session):
        assert secret not in everything


def test_the_owners_token_is_for_this_user_only(place: Place) -> None:
    """Who may read the store may change it; whoever else needs a token."""
    _, up = place.up()

    assert stat.S_IMODE(Path(f"{up['store']}.token").stat().st_mode) == 0o600


def test_it_stops_at_once_with_open_streams(place: Place) -> None:
    """Dashboards are left open in browsers; a deployment must not wait for them."""
    owner, up = place.up()
    with httpx2.Client(base_url=up["address"], timeout=30) as client, client.stream("GET", "/api/runs/live") as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry")
        place.run("runs", "start", "doubled", "--arg", "number=1", "--wait")
        while not next(lines).startswith("event: run"):
            pass

        owner.send_signal(signal.SIGTERM)
        list(lines)  # to the end, which is in order
        code = owner.wait(30)

    assert code == 0
    assert "graceful shutdown exceeded" not in place.log  # what the server says when its patience is over


def test_a_request_that_is_sent_again_after_a_kill_has_its_answer(place: Place) -> None:
    """The client cannot know whether the process died before or after it."""
    body = {"flow": "nap", "arguments": {"number": 1}, "policy": "replace"}
    key = {"Idempotency-Key": "3c1f"}
    owner, up = place.up()
    first = httpx2.post(f"{up['address']}/api/runs", json=body, headers=key)
    owner.send_signal(signal.SIGKILL)
    owner.wait()

    _, up = place.up()
    again = httpx2.post(f"{up['address']}/api/runs", json=body, headers=key)

    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert len(place.run("runs", "ls", "--all", "--json").json["runs"]) == 1
