"""What is not installed is told by its command."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.packages import PackageMissing, extra


def test_a_missing_package_is_told_with_its_command() -> None:
    """`No module named 'guessit'` does not say which extra to install."""
    with (
        pytest.raises(
            PackageMissing, match=r"need the package 'nowhere'; run: pip install 'headrace\[subtitles\]'"
        ) as caught,
        extra(),
    ):
        __import__("nowhere.at.all")

    assert caught.value.package == "nowhere"


def test_other_errors_are_left_alone() -> None:
    """A fault inside a package is not cured by installing it again."""
    with pytest.raises(ZeroDivisionError), extra():
        _ = 1 / 0
