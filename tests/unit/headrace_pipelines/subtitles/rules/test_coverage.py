from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.coverage import Cover, Made, Title, chosen, covered, shares
from headrace_pipelines.subtitles.rules.library import VideoFile

EN, HE, HE_HI = Wanted(language="en"), Wanted(language="he"), Wanted(language="he", hearing_impaired=True)


def title(*beside: Wanted, made: tuple[Made, ...] = (), asked: tuple[Wanted, ...] = (), path: str = "/a.mkv") -> Title:
    video = VideoFile(path=path, device=1, inode=1, size=1, mtime_ns=1, subtitles=beside)
    return Title(video=video, made=made, asked=frozenset(asked))


MACHINE = Made(wanted=HE, is_machine=True)


@pytest.mark.parametrize(
    "shown, cover",
    [
        (title(), Cover.MISSING),
        (title(EN), Cover.MISSING),
        (title(HE), Cover.PRESENT),
        (title(HE_HI), Cover.PRESENT),
        (title(asked=(HE,)), Cover.WORKING),
        (title(asked=(EN,)), Cover.MISSING),
        (title(HE, asked=(HE,)), Cover.PRESENT),
        (title(HE, made=(MACHINE,)), Cover.MACHINE),
        (title(HE, HE_HI, made=(MACHINE,)), Cover.PRESENT),
        (title(made=(MACHINE,)), Cover.MISSING),
        (title(made=(MACHINE,), asked=(HE,)), Cover.WORKING),
        (title(made=(Made(wanted=HE, is_machine=True, is_newer=True),)), Cover.MACHINE),
        (title(made=(Made(wanted=HE, is_machine=False, is_newer=True),)), Cover.PRESENT),
        (title(made=(Made(wanted=HE, is_machine=False),)), Cover.MISSING),
    ],
)
def test_how_a_video_is_covered(shown: Title, cover: Cover) -> None:
    """What lies there counts; what was written counts until a scan has looked, and a machine's work is told apart."""
    assert covered([shown], [HE])[0].covers == {HE: cover}


def test_a_language_that_counts_as_the_same_is_enough() -> None:
    """Otherwise a library would be said to lack what nobody misses."""
    assert covered([title(Wanted(language="en-GB"))], [EN])[0].covers == {EN: Cover.PRESENT}


@given(st.lists(st.sampled_from([title(), title(HE), title(asked=(HE,)), title(HE, made=(MACHINE,))])))
def test_the_shares_are_the_whole(titles: list[Title]) -> None:
    """A bar that is longer or shorter than the library lies."""
    (share,) = shares(covered(titles, [HE]), [HE])

    assert share.videos == len(titles)
    assert sum(share.percent(cover) for cover in Cover) == pytest.approx(100 if titles else 0)


def test_videos_are_chosen_by_words_language_and_state() -> None:
    """The way from a number to the videos that it counts."""
    titles = [title(HE, path="/Films/Salt.mkv"), title(EN, path="/Films/Paper.mkv"), title(path="/Series/Salt.mkv")]
    videos = covered(titles, [HE, EN])

    def paths(**how: object) -> list[str]:
        return [one.video.path for one in chosen(videos, **how)]  # type: ignore[arg-type]  # each way in turn

    assert paths(text="films salt") == ["/Films/Salt.mkv"]
    assert paths(wanted=HE, cover=Cover.MISSING) == ["/Films/Paper.mkv", "/Series/Salt.mkv"]
    assert paths(cover=Cover.PRESENT) == ["/Films/Salt.mkv", "/Films/Paper.mkv"]
    assert len(paths()) == 3
