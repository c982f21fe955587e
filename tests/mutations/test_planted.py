"""The list of planted bugs fits the code, so that none of them is planted in vain; ``make mutants`` tries them."""

from __future__ import annotations

import ast

import pytest

from tests.mutations.planted import Bug, planted
from tests.tree import ROOT

BUGS = planted()


def test_the_list_is_long_enough_and_has_no_name_twice() -> None:
    """A shrinking list would say less and less, and of two with one name the reader finds one."""
    assert len(BUGS) >= 30
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_can_be_planted(bug: Bug) -> None:
    """Code moves on; a bug whose place is gone would change nothing, and one with two places more than it says."""
    text = (ROOT / bug.file).read_text("utf-8")
    mutated = text.replace(bug.old, bug.new)

    assert text.count(bug.old) == 1
    assert mutated != text
    if bug.file.endswith(".py"):
        ast.parse(mutated)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_whoever_is_to_catch_a_bug_is_there(bug: Bug) -> None:
    """Tests are renamed, too."""
    files = [selection.partition("::")[0] for selection in bug.caught_by]

    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []
