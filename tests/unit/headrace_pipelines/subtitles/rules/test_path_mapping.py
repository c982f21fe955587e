from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.rules.path_mapping import PathMapping

MAPPING = PathMapping((("/media", "/srv"), ("/media/films", "/disks/one"), ("D:\\Series", "/srv/series")))


@pytest.mark.parametrize(
    "theirs, ours",
    [
        ("/media/series/a.mkv", "/srv/series/a.mkv"),
        ("/media/films/a.mkv", "/disks/one/a.mkv"),
        ("/media/filmstrips/a.mkv", "/srv/filmstrips/a.mkv"),
        ("/mediathek/a.mkv", "/mediathek/a.mkv"),
        ("d:\\series\\b\\c.mkv", "/srv/series/b/c.mkv"),
        ("/media/films", "/disks/one"),
    ],
)
def test_the_longest_folder_that_fits_counts(theirs: str, ours: str) -> None:
    """A folder inside another may be a disk of its own, and a name may begin like another."""
    assert MAPPING.ours(theirs) == ours


def test_the_way_back() -> None:
    """The media server is told of a subtitle under its own name for the folder."""
    assert MAPPING.theirs("/disks/one/a.he.srt") == "/media/films/a.he.srt"
    assert PathMapping((("D:\\Films", "/srv/films"),)).theirs("/srv/films/a/b.srt") == "D:\\Films\\a\\b.srt"
    assert PathMapping().theirs("/srv/a") == "/srv/a"


@settings(deadline=None)
@given(st.lists(st.text("abc .", min_size=1).filter(lambda part: part not in {".", ".."}), min_size=1, max_size=4))
def test_there_and_back_is_the_same(parts: list[str]) -> None:
    """Otherwise a refresh would be for another file than the one that was looked up."""
    mapping = PathMapping((("/media", "/srv/library"),))
    path = "/media/" + "/".join(parts)

    assert mapping.theirs(mapping.ours(path)) == path
