"""Names of subtitles, and of videos."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Format, Wanted
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage
from headrace_pipelines.subtitles.rules.naming import (
    LONGEST_NAME,
    is_ignored,
    is_media,
    is_video,
    shorten,
    subtitle_name,
    subtitles_beside,
)

HEBREW = Wanted(language="he")
STEMS = st.text(st.characters(exclude_characters="/\0\ud800", exclude_categories=["Cs"]), min_size=1, max_size=200)


@pytest.mark.parametrize(
    "wanted, format, name",
    [
        (HEBREW, Format.SRT, "Film (1999).he.srt"),
        (Wanted(language="pt-BR", forced=True), Format.SRT, "Film (1999).pt-BR.forced.srt"),
        (Wanted(language="en", hearing_impaired=True), Format.ASS, "Film (1999).en.sdh.ass"),
        (Wanted(language="pob"), Format.VTT, "Film (1999).pt-BR.vtt"),
    ],
)
def test_subtitles_are_called_after_their_video(wanted: Wanted, format: Format, name: str) -> None:
    """Jellyfin, Plex and Kodi find a subtitle by nothing else."""
    assert subtitle_name("Film (1999).mkv", wanted, format) == name


def test_only_the_extension_of_a_video_is_taken_off() -> None:
    """A release name ends in something that looks like an extension."""
    assert subtitle_name("Film.1999.x264-GRP", HEBREW) == "Film.1999.x264-GRP.he.srt"


@pytest.mark.parametrize("language", ["../../x", "he/../..", "x", ""])
def test_a_language_never_leads_out_of_the_folder(language: str) -> None:
    """What a caller writes as language became a path once, in another program."""
    with pytest.raises(UnknownLanguage):
        subtitle_name("Film.mkv", Wanted(language=language))


def test_folders_in_the_name_of_the_video_are_left_out() -> None:
    """The folder is the caller's business; the name is a name."""
    assert subtitle_name("a/../../etc/Film.mkv", HEBREW) == "Film.he.srt"
    with pytest.raises(ValueError, match="no name of a video"):
        subtitle_name("a/..", HEBREW)


def test_a_long_name_loses_whole_letters() -> None:
    """A file system counts bytes, and half a letter is an invalid name."""
    name = subtitle_name("א" * 125 + ".mkv", HEBREW)

    assert name == "א" * 124 + ".he.srt"
    assert len(name.encode()) <= LONGEST_NAME


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 60))
def test_shortened_text_is_a_beginning(text: str, limit: int) -> None:
    """No letter is cut in two, and no accent parted from its letter."""
    kept = shorten(text, limit)

    assert text.startswith(kept)
    assert len(kept.encode()) <= limit or kept == text


def test_an_accent_goes_with_its_letter() -> None:
    """`e` and `é` are different names."""
    assert shorten("ne\u0301", 3) == "n"


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("Film.he.srt", "he"), ("Film.iw.srt", "he"), ("Film.heb.ass", "he"), ("Film.pt-BR.srt", "pt-BR"), ("Film.pob.srt", "pt-BR"),
        ("Film.en.forced.srt", "en:forced"), ("Film.en.sdh.srt", "en:hi"), ("Film.en.cc.vtt", "en:hi"),
        ("Film.en.hi.srt", "en:hi"), ("Film.hi.srt", "hi"), ("Film.hi.forced.srt", "hi:forced"), ("Film.hi.hi.srt", "hi:hi"),
        ("Film.Director's Commentary.en.srt", "en"), ("Film.en.fr.srt", "fr"), ("Film.zh-Hant.srt", "zh-Hant"), ("Film.sub.en.srt", "en"),
        ("Film.en.HI.SDH.srt", "en:hi"), ("Film.EN.srt", "en"), ("Film.en.sub.srt", "en"),
    ],
)  # fmt: skip
def test_names_are_read_back(name: str, wanted: str) -> None:
    """A scan that does not see what is there spends the quota on it again."""
    (found,) = subtitles_beside("Film.mkv", [name])

    assert str(found.wanted) == wanted


def test_a_folder_is_read() -> None:
    """Other films, other files and the video itself are not subtitles of this video."""
    names = [
        "Film.mkv",
        "Film.he.srt",
        "Film.srt",
        "Film.en.default.srt",
        "Film 2.he.srt",
        "Film.nfo",
        "Films.he.srt",
        "Film.he.srt.bak",
    ]

    found = subtitles_beside("Film.mkv", names)

    assert [(one.name, str(one.wanted), one.is_default) for one in found] == [
        ("Film.en.default.srt", "en", True),
        ("Film.he.srt", "he", False),
        ("Film.srt", "None", False),
    ]


@given(STEMS, st.sampled_from(["he", "pt-BR", "zh-Hant", "hi", "sr-Latn", "gsw"]), st.booleans(), st.booleans())
def test_own_names_are_always_read_back(stem: str, language: str, hearing_impaired: bool, forced: bool) -> None:
    """Also those that had to be shortened."""
    if stem in {".", ".."} or is_video(stem):
        return
    wanted = Wanted(language=language, hearing_impaired=hearing_impaired, forced=forced)

    name = subtitle_name(f"{stem}.mkv", wanted)

    assert len(name.encode()) <= LONGEST_NAME
    assert [one.wanted for one in subtitles_beside(f"{stem}.mkv", [name])] == [wanted]


@pytest.mark.parametrize("name", ["a.mkv", "a.MP4", "x/y/a.m2ts", "a.webm"])
def test_videos(name: str) -> None:
    """What is not taken for a video never gets a subtitle."""
    assert is_media(name)


@pytest.mark.parametrize(
    "path",
    [
        "a.mkv.part", "a.mkv.!qB", "a.tmp", ".a.mkv", "a.srt", "sample.mkv", "film-sample.mkv", "Sample/a.mkv", "film.sample.mkv",
        "sample-film.mkv", "film-trailer.mp4", "film-trailer2.mp4", "Trailers/a.mp4", "trailer.mkv", "a", "",
    ],
)  # fmt: skip
def test_what_is_no_video_for_subtitles(path: str) -> None:
    """A half of a download has a fingerprint of its own, and a sample has that of nobody."""
    assert not is_media(path)


@pytest.mark.parametrize("path", ["Trailer Park Boys - S01E01.mkv", "The.Sample.Man.2019.mkv", "Sampled (2004).mkv"])
def test_films_with_such_a_word_are_films(path: str) -> None:
    """A film must not be missed for its title."""
    assert is_media(path)
    assert not is_ignored(path)
