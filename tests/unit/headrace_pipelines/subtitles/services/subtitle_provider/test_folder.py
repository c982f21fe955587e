from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import ServiceUnavailable
from headrace_pipelines.subtitles.model import Candidate, Media, Release, Wanted
from headrace_pipelines.subtitles.services.subtitle_provider.folder import HASH_FILE, FolderOfSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.port import FileGone

HE = Wanted(language="he")
FILM = Media(url="file:///x", name="x", release=Release(title="Copper Moon", year=2017), moviehash="92acb3d2da072802")


def put(root: Path, name: str, content: bytes = b"1\n00:00:01,000 --> 00:00:02,000\nHi.\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def candidate(file_id: str) -> Candidate:
    return Candidate(provider="folder", file_id=file_id, language="he", release=Release())


@pytest.mark.parametrize(
    "name, sort",
    [
        ("Copper.Moon.2017.1080p.WEB-VEIN.he.srt", ""),
        ("Copper.Moon.2017.1080p.WEB-VEIN.heb.SRT", ""),
        ("Copper.Moon.2017.1080p.WEB-VEIN.he.sdh.srt", ":hi"),
        ("Copper.Moon.2017.1080p.WEB-VEIN.he.hi.ass", ":hi"),
        ("Copper.Moon.2017.1080p.WEB-VEIN.forced.he.vtt", ":forced"),
    ],
)
async def test_names_are_read_as_people_write_them(tmp_path: Path, name: str, sort: str) -> None:
    """An archive was collected over years, from many places."""
    put(tmp_path, name)

    (found,) = await FolderOfSubtitles(tmp_path).search(FILM, HE)

    assert str(Wanted(language="he", hearing_impaired=found.hearing_impaired, forced=found.forced)) == f"he{sort}"
    assert (found.release.title, found.release.group, found.file_id) == ("Copper Moon", "VEIN", name)


async def test_what_tells_no_language_is_not_offered(tmp_path: Path) -> None:
    """It could be in any."""
    put(tmp_path, "Copper.Moon.2017.1080p.srt")
    put(tmp_path, "he.srt")
    put(tmp_path, "Copper.Moon.2017.he.nfo")

    assert await FolderOfSubtitles(tmp_path).search(FILM, HE) == ()


async def test_several_hashes_and_odd_ones(tmp_path: Path) -> None:
    """One subtitle may fit several files, and somebody typed them in by hand."""
    path = put(tmp_path, "whatever.he.srt")
    put(tmp_path, path.name + HASH_FILE, b"8e245d9679d31e12\r\nnot a hash\n92ACB3D2DA072802\n")

    (found,) = await FolderOfSubtitles(tmp_path).search(FILM, HE)

    assert found.hash_matches


async def test_nothing_outside_of_the_folder_is_given(tmp_path: Path) -> None:
    """A file id comes back from events and tables, and must not become a way to any file."""
    archive = tmp_path / "archive"
    put(archive, "a.he.srt")
    secret = put(tmp_path, "secret.he.srt")
    (archive / "link.he.srt").symlink_to(secret)

    for file_id in ("../secret.he.srt", str(secret), "link.he.srt"):
        with pytest.raises(FileGone, match="outside"):
            await FolderOfSubtitles(archive).fetch(candidate(file_id))


async def test_a_folder_that_is_not_there_is_no_empty_answer(tmp_path: Path) -> None:
    """Its disk may be mounted in a minute, and the film must not count as having no subtitle."""
    with pytest.raises(ServiceUnavailable, match="is its disk mounted"):
        await FolderOfSubtitles(tmp_path / "nothing").search(FILM, HE)


async def test_what_is_too_large_is_no_subtitle(tmp_path: Path) -> None:
    """Somebody renamed a film."""
    put(tmp_path, "a.he.srt", b"x" * (10 * 1024 * 1024 + 1))

    with pytest.raises(FileGone, match="larger than 10 MB"):
        await FolderOfSubtitles(tmp_path).fetch(candidate("a.he.srt"))
    with pytest.raises(FileGone, match="no such file"):
        await FolderOfSubtitles(tmp_path).fetch(candidate("."))
