"""A lifecycle drawn from code, without a store."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from headrace._cli.main import main

CODE = """
from headrace import Lifecycle, Pipeline

drawn = Lifecycle("drawn", moves=[("drawn.made", None, "open"), ("drawn.done", "open", "done")], terminal=["done"])
pipeline = Pipeline("drawing", lifecycles=[drawn])
"""


@pytest.fixture
def code(tmp_path: Path) -> Iterator[str]:
    """A file with a pipeline; what is imported from it is forgotten afterwards."""
    path = tmp_path / "drawn_for_a_test.py"
    path.write_text(CODE)
    before = sys.path[:]
    yield str(path)
    sys.path[:] = before
    sys.modules.pop("drawn_for_a_test", None)


def test_a_lifecycle_is_drawn(code: str) -> None:
    """A file that every browser shows."""
    outcome = CliRunner().invoke(main, ["jobs", "diagram", "drawn", code, "--state", "open"])

    drawing = ElementTree.fromstring(outcome.stdout)
    assert drawing.get("aria-label") == "lifecycle drawn, now open"
    assert "drawn.done" in outcome.stdout


def test_its_moves_are_told_to_programs(code: str) -> None:
    """The same object as over HTTP."""
    outcome = CliRunner().invoke(main, ["jobs", "diagram", "drawn", code, "--json"])

    assert json.loads(outcome.stdout)["states"] == ["open", "done"]


def test_a_lifecycle_that_is_not_there(code: str) -> None:
    """The message says which ones are."""
    outcome = CliRunner().invoke(main, ["jobs", "diagram", "drown", code])

    assert outcome.exit_code == 4
    assert "known lifecycles: drawn" in outcome.stderr
