from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.library import (
    Listing,
    Shelf,
    Unreadable,
    VideoFile,
    Wish,
    compare,
    is_closed,
    keeps_out,
    missing,
    tells_of_changes,
    videos_among,
    wishes,
)

HE, EN = Wanted(language="he"), Wanted(language="en")


def video(
    path: str = "/films/a.mkv", inode: int = 1, *subtitles: Wanted, size: int = 100, mtime_ns: int = 5
) -> VideoFile:
    return VideoFile(path=path, device=1, inode=inode, size=size, mtime_ns=mtime_ns, subtitles=subtitles)


def listing(*videos: VideoFile, unreadable: tuple[Unreadable, ...] = ()) -> Listing:
    return Listing(videos=videos, unreadable=unreadable)


def test_everything_is_new_once() -> None:
    """The second scan of a library that is as it was has nothing to do."""
    first = compare({}, listing(video(), video("/films/b.mkv", 2)))
    second = compare(first.index, listing(video(), video("/films/b.mkv", 2)))

    assert [one.path for one in first.new] == ["/films/a.mkv", "/films/b.mkv"]
    assert (second.new, second.changed, second.moved, second.gone, second.lost_subtitles) == ((), (), (), (), ())


def test_a_renamed_file_is_not_new() -> None:
    """Radarr renames whole libraries, and what was found for a file still fits it."""
    scan = compare({"/films/a.mkv": video()}, listing(video("/films/A (2020)/a.mkv")))

    assert [(one.before.path, one.after.path) for one in scan.moved] == [("/films/a.mkv", "/films/A (2020)/a.mkv")]
    assert (scan.new, scan.gone) == ((), ())
    assert set(scan.index) == {"/films/A (2020)/a.mkv"}


@pytest.mark.parametrize("change", [{"size": 101}, {"mtime_ns": 6}, {"inode": 9}])
def test_other_content_under_the_same_name_is_a_change(change: dict[str, int]) -> None:
    """After an upgrade the hash is another, and so is the best subtitle."""
    upgraded = replace(video(), **change)  # type: ignore[arg-type]  # only numbers are changed

    scan = compare({"/films/a.mkv": video()}, listing(upgraded))

    assert len(scan.changed) == 1


def test_a_number_that_was_given_to_another_file_is_no_move() -> None:
    """File systems give the inode of a deleted file to the next one."""
    scan = compare({"/films/a.mkv": video()}, listing(video("/films/b.mkv", 1, mtime_ns=7)))

    assert ([one.path for one in scan.new], [one.path for one in scan.gone]) == (["/films/b.mkv"], ["/films/a.mkv"])


def test_what_cannot_be_read_is_not_gone() -> None:
    """A disk that is not mounted has lost no films, and nothing must be deleted or found anew when it is back."""
    index = {one.path: one for one in (video(), video("/series/b.mkv", 2))}

    scan = compare(index, listing(video(), unreadable=(Unreadable(path="/series", reason="gone"),)))

    assert scan.gone == ()
    assert scan.index == index


def test_a_subtitle_that_was_deleted_is_wanted_again() -> None:
    """Somebody deleted it because it was bad; the video tells nothing of that."""
    scan = compare({"/films/a.mkv": video("/films/a.mkv", 1, HE)}, listing(video()))

    assert wishes(scan, [HE]) == (Wish(video=video(), missing=(HE,)),)


def test_a_subtitle_follows_its_video() -> None:
    """A rename is no reason to download again what lies under the old name."""
    index = {"/films/a.mkv": video("/films/a.mkv", 1, HE)}

    scan = compare(index, listing(video("/films/b.mkv")))

    assert [wish.missing for wish in wishes(scan, [HE, EN])] == [(EN,)]


def test_what_is_missing() -> None:
    """Each wish is for a language and a sort."""
    deaf, forced = Wanted(language="he", hearing_impaired=True), Wanted(language="he", forced=True)

    assert missing(video("/a.mkv", 1, EN), [HE, EN]) == (HE,)
    assert missing(video("/a.mkv", 1, HE), [deaf, forced, HE]) == (deaf, forced)
    assert missing(video("/a.mkv", 1, deaf), [HE]) == ()
    assert missing(video("/a.mkv", 1, forced), [HE]) == (HE,)
    assert missing(video("/a.mkv", 1, Wanted(language="pt-PT")), [Wanted(language="pt")]) == ()


def test_a_name_without_a_language_counts_if_somebody_says_so() -> None:
    """`Film.srt` is in some language, and the owner knows in which."""
    unnamed = replace(video(), has_unnamed=True)

    assert missing(unnamed, [EN]) == (EN,)
    assert missing(unnamed, [EN], unnamed_is="en") == ()


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4)),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4)),
)
def test_every_video_is_accounted_for_once(before: dict[str, int], after: dict[str, int]) -> None:
    """One that falls through is never looked for; one that counts twice is looked for twice."""
    old = {path: video(path, inode) for path, inode in before.items()}
    scan = compare(old, listing(*(video(path, inode) for path, inode in after.items())))

    told = [one.path for one in scan.new] + [one.after.path for one in scan.moved] + [one.path for one in scan.changed]
    left = [one.path for one in scan.gone] + [one.before.path for one in scan.moved]
    assert sorted(told) == sorted(path for path in after if before.get(path) != after[path])
    # Two names of one file may have become one.
    assert set(left) <= set(before) - set(after)
    assert set(scan.index) == set(after)
    assert compare(scan.index, listing(*scan.index.values())).new == ()


def test_what_lies_beside_a_video() -> None:
    """The languages stand in the names, and the names of another film may begin alike."""
    shelf = Shelf(["a.he.srt", "a.en.sdh.ass", "a.srt", "a2.fr.srt", "a.he.srt.part", "a.nfo", ".a.de.srt"])

    subtitles, has_unnamed = shelf.beside("a.mkv")

    assert set(subtitles) == {HE, Wanted(language="en", hearing_impaired=True)}
    assert has_unnamed
    assert shelf.beside("b.mkv") == ((), False)


def test_names_that_were_shortened_are_found() -> None:
    """A name of the longest length leaves no room for the language, so the stem gave way."""
    stem = "x" * 250
    shelf = Shelf([f"{stem[:248]}.he.srt"])

    assert shelf.beside(f"{stem}.mkv")[0] == (HE,)


def test_what_is_left_alone() -> None:
    """Samples, trailers, unfinished files, and whatever the owner names."""
    names = ["a.mkv", "a-sample.mkv", "b.mkv.part", ".c.mkv", "d.txt", "e.REMUX.mkv"]

    assert videos_among(names, "films", ["*REMUX*"]) == ["a.mkv"]
    assert videos_among(["a.mkv"], "films/Trailers") == []
    assert [is_closed(name, ["Private*"]) for name in (".git", "@eaDir", "Private stuff", "Films")] == [
        True,
        True,
        True,
        False,
    ]
    assert keeps_out(["a.mkv", ".nomedia"])
    assert not keeps_out(["a.mkv"])


MOUNTS = "/dev/sda1 / ext4 rw 0 0\nnas:/films /media/films nfs4 rw 0 0\nhost /media/my\\040disk fuse.sshfs rw 0 0\n"


@pytest.mark.parametrize(
    "path, tells",
    [("/home/me", True), ("/media/films/a", False), ("/media/filmstrips", True), ("/media/my disk", False)],
)
def test_some_file_systems_report_nothing(path: str, tells: bool) -> None:
    """Waiting for reports from another machine means waiting for ever."""
    assert tells_of_changes(path, MOUNTS) is tells
