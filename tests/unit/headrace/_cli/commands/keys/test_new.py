"""`headrace keys new`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from headrace._base.vault import key_id, read_key
from headrace._cli.main import main


def test_it_prints_a_key_and_nothing_else() -> None:
    """Its output goes straight into a file."""
    first, second = (CliRunner().invoke(main, ["keys", "new"]).stdout for _ in range(2))

    assert len(read_key(first)) == 32
    assert first.count("\n") == 1
    assert first != second


def test_json_has_its_id_too() -> None:
    """By its id it is called in messages later."""
    made = json.loads(CliRunner().invoke(main, ["keys", "new", "--json"]).stdout)

    assert made["id"] == key_id(made["key"])
