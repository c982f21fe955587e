"""Archives from providers."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from headrace_pipelines.subtitles.model import Kind, Release
from headrace_pipelines.subtitles.rules.archives import (
    ArchiveRefused,
    Limits,
    Member,
    Refusal,
    choose,
    is_archive,
    unpack,
)

EPISODE = Release(kind=Kind.EPISODE, title="Show", season=1, episodes=(2,))


def packed(*members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def refusal(data: bytes, **how: object) -> Refusal:
    with pytest.raises(ArchiveRefused) as caught:
        unpack(data, **how)  # type: ignore[arg-type]  # the tests give what they need
    assert str(caught.value).startswith(f"archive refused ({caught.value.why}): ")
    return caught.value.why


def test_a_zip_with_one_subtitle() -> None:
    """What surrounds it does not matter."""
    data = packed(("Film/info.nfo", b"x"), ("__MACOSX/Film/._film.srt", b"junk"), ("Film/film.srt", b"1\n"))

    assert is_archive(data)
    assert unpack(data) == Member("Film/film.srt", b"1\n")


def test_a_gzip_file() -> None:
    """The older interfaces send these."""
    assert unpack(gzip.compress(b"1\n"), name="film.srt.gz") == Member("film.srt", b"1\n")


def test_what_is_no_archive_is_given_back() -> None:
    """The caller need not know what a provider sends."""
    assert not is_archive(b"1\n00:00")
    assert unpack(b"1\n00:00", name="film.srt") == Member("film.srt", b"1\n00:00")


@pytest.mark.parametrize(
    "magic, words",
    [
        (b"Rar!\x1a\x07\x01\x00", "no free program"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"BZh9", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
    ],
)
def test_other_archives_are_refused_with_a_reason(magic: bytes, words: str) -> None:
    """Read as text they would be called damaged."""
    with pytest.raises(ArchiveRefused, match=words) as caught:
        unpack(magic + bytes(100))

    assert caught.value.why is Refusal.CLOSED_FORMAT
    assert is_archive(magic)


@pytest.mark.parametrize(
    "name", ["../film.srt", "/etc/film.srt", "a/../../film.srt", "C:\\film.srt", "..\\film.srt", "\\\\host\\film.srt"]
)
def test_names_that_lead_out_are_refused(name: str) -> None:
    """Nothing is written under such a name, and nothing else in such an archive is trusted."""
    assert refusal(packed(("film.srt", b"1\n"), (name, b"1\n"))) is Refusal.UNSAFE_NAME


def test_bombs_are_refused() -> None:
    """Ten kilobytes of zip can hold ten megabytes, ten of gzip as well."""
    zeros = bytes(10_000_001)

    assert refusal(packed(("film.srt", zeros))) is Refusal.TOO_LARGE
    assert (
        refusal(packed(("film.srt", b"1"), ("a.txt", zeros[:6_000_000]), ("b.txt", zeros[:6_000_000])))
        is Refusal.TOO_LARGE
    )
    assert refusal(gzip.compress(zeros)) is Refusal.TOO_LARGE
    assert unpack(gzip.compress(zeros), limits=Limits(unpacked=20_000_000)).data == zeros


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    """The sizes in the directory are written by whoever made the archive."""
    data = bytearray(packed(("film.srt", bytes(3_000_000))))
    size = (3_000_000).to_bytes(4, "little")
    while (at := data.find(size)) >= 0:
        data[at : at + 4] = (100).to_bytes(4, "little")

    assert refusal(bytes(data), limits=Limits(unpacked=1_000_000)) in {Refusal.TOO_LARGE, Refusal.DAMAGED}


def test_too_many_files_are_refused() -> None:
    """Twenty are a season; thousands are an attack on whoever lists them."""
    members = [(f"{n}.srt", b"1") for n in range(21)]

    assert unpack(packed(*members[:20])).name == "0.srt"
    assert refusal(packed(*members)) is Refusal.TOO_MANY_FILES


def test_damaged_archives_are_refused() -> None:
    """A connection that broke off leaves a beginning."""
    whole = packed(("film.srt", b"1\n" * 1000))

    assert refusal(whole[:60]) is Refusal.DAMAGED
    assert refusal(gzip.compress(b"1\n" * 1000)[:20]) is Refusal.DAMAGED
    assert refusal(b"\x1f\x8bjunk") is Refusal.DAMAGED
    broken = bytearray(whole)
    broken[45] ^= 0xFF
    assert refusal(bytes(broken)) is Refusal.DAMAGED


def test_a_password_is_a_reason() -> None:
    """Nobody has it."""
    data = bytearray(packed(("film.srt", b"1\n")))
    for header in (b"PK\x03\x04", b"PK\x01\x02"):
        at = data.find(header)
        data[at + (6 if header == b"PK\x03\x04" else 8)] |= 1

    assert refusal(bytes(data)) is Refusal.ENCRYPTED


def test_an_archive_without_subtitle() -> None:
    """The names say what it was instead."""
    with pytest.raises(ArchiveRefused, match=r"it holds no subtitle, only 'setup\.exe'"):
        unpack(packed(("setup.exe", b"MZ")))
    assert refusal(packed()) is Refusal.NO_SUBTITLE


@pytest.mark.parametrize(
    "names, chosen",
    [
        (["Show.S01E01.srt", "Show.S01E02.srt", "Show.S01E03.srt"], "Show.S01E02.srt"),
        (["Show.S02E02.srt", "Show.S01E02.srt"], "Show.S01E02.srt"),
        (["Show - 1x02 - Title.srt", "Show - 1x03 - Other.srt"], "Show - 1x02 - Title.srt"),
        (["Show.S01E02.ass", "Show.S01E02.srt", "Show.S01E02.sub"], "Show.S01E02.srt"),
        (["Season 1/Show.S01E01E02.srt", "Season 1/Show.S01E03.srt"], "Season 1/Show.S01E01E02.srt"),
        (["whatever.srt"], "whatever.srt"),
        (["Show.S01E02.en.srt", "Show.S01E02.he.srt"], "Show.S01E02.he.srt"),
        (["Show.S01E02.en.srt", "Show.S01E02.srt"], "Show.S01E02.srt"),
        (["Show.S01E02.In.The.End.srt", "Show.S01E02.en.srt"], "Show.S01E02.In.The.End.srt"),
        (["Show.S01E02.forced.srt", "Show.S01E02.srt"], "Show.S01E02.srt"),
    ],
)
def test_the_right_file_of_a_season_is_chosen(names: list[str], chosen: str) -> None:
    """The first file of an archive is episode 1, for every episode."""
    assert choose(names, EPISODE, "he") == chosen


def test_another_episode_is_not_taken_instead() -> None:
    """It would fit the title and nothing that is said."""
    with pytest.raises(
        ArchiveRefused, match=r"none of its files is for the episode that is wanted: 'Show\.S01E01\.srt'"
    ):
        choose(["Show.S01E01.srt"], EPISODE)
    with pytest.raises(ArchiveRefused, match="none of its files"):
        choose(["a.srt", "b.srt"], EPISODE)


def test_for_a_film_the_language_decides() -> None:
    """There are no episodes to choose from."""
    assert choose(["film.eng.srt", "film.heb.srt"], Release(title="Film"), "he") == "film.heb.srt"
