"""What people type for values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from headrace._cli.problem import WrongUse
from headrace._cli.typed_value import json_of, moment_of, text_of_file, value_of


@pytest.mark.parametrize(
    "text,value", [("3", 3), ('"3"', "3"), ("null", None), ('{"a": [1]}', {"a": [1]}), ("plain text", "plain text"), ("", "")]
)  # fmt: skip
def test_text_that_is_no_json_is_text(text: str, value: object) -> None:
    """Nobody likes to quote a word for the shell and again for JSON."""
    assert value_of(text, "--data") == value


@pytest.mark.parametrize("text", ["{minute: 44}", "[1, 2", '"half'])
def test_text_that_means_to_be_json_must_be(text: str) -> None:
    """A forgotten brace would otherwise be published as a text."""
    with pytest.raises(WrongUse, match="--data is no JSON"):
        value_of(text, "--data")


def test_a_file_holds_json(tmp_path: Path) -> None:
    """What is wrong with it is said with the place."""
    file = tmp_path / "a.json"
    file.write_text("[1, 2]")
    strange = tmp_path / "b.json"
    strange.write_bytes(b"\xff\xfe")

    assert json_of(text_of_file(str(file), "--data-file"), "--data-file", example="") == [1, 2]
    for name, complaint in ((str(tmp_path / "no"), "cannot be read: No such file"), (str(strange), "is no text")):
        with pytest.raises(WrongUse, match=complaint):
            text_of_file(name, "--data-file")
    with pytest.raises(WrongUse, match="--data-file is no JSON"):
        json_of("one", "--data-file", example="")


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00", "2026-01-31 12:00:00 UTC", "2026-01-31T12:00Z", "2026-01-31T13:00+01:00"]
)
def test_an_instant_without_a_zone_is_utc(text: str) -> None:
    """All that is shown is in UTC, so what is copied from there means the same."""
    assert moment_of(text, "--since") == NOON


def test_a_zone_is_kept() -> None:
    """It is the same instant for whoever reads it."""
    assert moment_of("2026-01-31T13:00+01:00", "--since").tzinfo == timezone(timedelta(hours=1))


def test_what_is_no_instant_is_wrong_use() -> None:
    """With the form that is wanted."""
    with pytest.raises(WrongUse, match="--since 'yesterday' is no instant") as wrong:
        moment_of("yesterday", "--since")

    assert "2026-01-31T12:00:00" in wrong.value.hint
