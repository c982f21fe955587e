"""Endpoints from the command line, without an owner."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace._base.vault import new_key
from headrace._cli.main import main
from tests.receiver import Answer, Receiver


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


def webhooks(store: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["webhooks", *words, "--store", str(store)])


def test_a_new_secret_stands_alone_on_standard_output(store: Path) -> None:
    """So that it goes into a file or a vault without an editor; the store is made when it is not there."""
    made = webhooks(store, "add", "billing", "https://example.org/hooks", "--topic", "order.#", "--topic", "a")
    rotated = webhooks(store, "rotate", "billing", "--overlap", "3600")
    at_once = webhooks(store, "rotate", "billing", "--overlap", "0")

    for outcome in (made, rotated, at_once):
        assert outcome.exit_code == 0, outcome.output
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/=]{32}\n", outcome.stdout)
        assert outcome.stdout.strip() not in outcome.stderr
    assert "signs for 1:00:00 more" in rotated.stderr
    assert "signs no more" in at_once.stderr


def test_an_endpoint_is_tried_before_anything_runs(store: Path, receiver: Receiver) -> None:
    """The address is right or wrong now, and not when the first order comes at night."""
    webhooks(store, "add", "billing", receiver.url, "--allow-private")
    good, as_json = webhooks(store, "test", "billing"), webhooks(store, "test", "billing", "--json")
    receiver.usual = Answer(404)
    bad, bad_json = webhooks(store, "test", "billing"), webhooks(store, "test", "billing", "--json")

    assert (good.exit_code, good.stdout) == (0, "billing answered 204.\n")
    assert (as_json.exit_code, json.loads(as_json.stdout)["ok"]) == (0, True)
    assert (bad.exit_code, "answered 404" in bad.stderr) == (4, True)
    assert (bad_json.exit_code, json.loads(bad_json.stdout)["status"]) == (4, 404)


def test_an_address_inside_needs_leave(store: Path, receiver: Receiver) -> None:
    """The error says how to give it."""
    webhooks(store, "add", "billing", receiver.url)
    refused = webhooks(store, "test", "billing")

    assert refused.exit_code == 4
    assert "--allow-private" in refused.stderr
    assert receiver.seen == []


def test_disabled_enabled_removed(store: Path) -> None:
    """Each says what it did, and what to do next."""
    webhooks(store, "add", "billing", "https://example.org/")
    disabled = webhooks(store, "disable", "billing", "--reason", "they move")
    shown = webhooks(store, "show", "billing")
    enabled = webhooks(store, "enable", "billing", "--json")
    removed = webhooks(store, "rm", "billing")
    listed = webhooks(store, "ls")

    assert "until `headrace webhooks enable billing`" in disabled.stdout
    assert "disabled: they move" in shown.stdout
    assert json.loads(enabled.stdout)["enabled"] is True
    assert removed.stdout == "billing is removed.\n"
    assert (listed.stdout, "headrace webhooks add" in listed.stderr) == ("", True)


def test_what_goes_wrong_is_said_in_a_line(store: Path) -> None:
    """With an exit code that a script can go by."""
    nothing = webhooks(store, "rm", "billing")
    webhooks(store, "add", "billing", "https://example.org/")
    taken = webhooks(store, "add", "billing", "https://example.org/", "--json")
    unknown = webhooks(store, "show", "nope")
    odd = webhooks(store, "add", "other", "example.org")

    assert [outcome.exit_code for outcome in (nothing, taken, unknown, odd)] == [4] * 4
    assert "there is no store" in nothing.stderr
    assert json.loads(taken.stdout)["error"]["code"] == "conflict"
    assert "no endpoint 'nope'" in unknown.stderr
    assert "https://host/path" in odd.stderr


def test_a_store_with_a_key_is_changed_with_it(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has set the key can add endpoints and tokens while nobody runs the store."""
    monkeypatch.setenv("HEADRACE_STORE__KEY", new_key())
    added = webhooks(store, "add", "billing", "https://example.org/hooks/open-sesame")
    token = CliRunner().invoke(main, ["tokens", "new", "ci", "--store", str(store)])
    listed = webhooks(store, "ls")
    monkeypatch.delenv("HEADRACE_STORE__KEY")
    refused = webhooks(store, "ls")

    assert (added.exit_code, token.exit_code) == (0, 0)
    assert "open-sesame" in listed.stdout
    assert (refused.exit_code, "HEADRACE_STORE__KEY" in refused.stderr) == (4, True)
    assert b"open-sesame" not in store.read_bytes()
