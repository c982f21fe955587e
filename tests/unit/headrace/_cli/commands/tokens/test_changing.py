"""Tokens from the command line, without an owner."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace._cli.main import main


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


def tokens(store: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["tokens", *words, "--store", str(store)])


def test_a_new_token_stands_alone_on_standard_output(store: Path) -> None:
    """So that `TOKEN=$(headrace tokens new ci)` works; the store is made when it is not there."""
    made = tokens(store, "new", "ci", "--scope", "operate")

    assert made.exit_code == 0
    assert re.fullmatch(r"hr_[0-9a-f]{8}_[0-9a-f]{48}\n", made.stdout)
    assert "change runs" in made.stderr
    assert made.stdout.strip() not in made.stderr


def test_tokens_are_listed_without_what_they_are(store: Path) -> None:
    """The list is looked at over shoulders and pasted into chats."""
    made = tokens(store, "new", "ci").stdout.strip()
    tokens(store, "new", "old")
    tokens(store, "revoke", "old")

    listed, all_of_them = tokens(store, "ls"), tokens(store, "ls", "--all", "--json")

    assert "ci" in listed.stdout
    assert "old" not in listed.stdout
    assert [token["name"] for token in json.loads(all_of_them.stdout)["tokens"]] == ["ci", "old"]
    assert made.rpartition("_")[2] not in listed.stdout + all_of_them.stdout


def test_what_goes_wrong_is_said_in_a_line(store: Path) -> None:
    """With an exit code that a script can go by."""
    nothing = tokens(store, "revoke", "ci")
    tokens(store, "new", "ci")
    taken = tokens(store, "new", "ci", "--json")
    unknown = tokens(store, "revoke", "nope")
    odd = tokens(store, "new", "a b")

    assert [outcome.exit_code for outcome in (nothing, taken, unknown, odd)] == [4] * 4
    assert "there is no store" in nothing.stderr
    assert json.loads(taken.stdout)["error"]["code"] == "conflict"
    assert "no token 'nope'" in unknown.stderr
    assert not [outcome for outcome in (nothing, taken, unknown, odd) if "Traceback" in outcome.output]


def test_an_empty_list_says_what_to_do(store: Path) -> None:
    """It is where people look first."""
    tokens(store, "new", "ci")
    tokens(store, "revoke", "ci")

    assert "headrace tokens new" in tokens(store, "ls").stderr


def test_the_store_that_is_made_is_like_any_other(store: Path) -> None:
    """A first `tokens new` must not leave a file that `up` cannot use."""
    tokens(store, "new", "ci")

    assert stat.S_ISREG(store.stat().st_mode)
    assert CliRunner().invoke(main, ["check", str(store)]).exit_code == 0
