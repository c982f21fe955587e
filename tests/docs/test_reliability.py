"""The page on reliability speaks of tests and bugs that are there."""

from __future__ import annotations

import re

from tests.mutations.planted import planted
from tests.tree import ROOT, texts

PAGE = (ROOT / "docs" / "explanation" / "reliability.md").read_text("utf-8")
ROW = re.compile(r"^\| (?P<name>[^|]+) \| [^|]+ \| caught: `[^`]+` \|$", re.MULTILINE)


def test_tests_that_the_page_names_are_there() -> None:
    """A promise that points to a test which was renamed points to nothing."""
    defined = {
        name
        for path, text in texts().items()
        if path.startswith("tests/") and path.endswith(".py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
    }

    assert sorted(set(re.findall(r"`(test_\w+)`", PAGE)) - defined) == []


def test_the_table_has_every_planted_bug_and_no_other() -> None:
    """`make mutants ARGS=--table` writes its rows anew."""
    assert [match["name"] for match in ROW.finditer(PAGE)] == [bug.name for bug in planted()]
