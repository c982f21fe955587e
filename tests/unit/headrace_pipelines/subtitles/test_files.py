"""Files beside videos."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest

from headrace_pipelines.subtitles.files import (
    DiskFull,
    FileError,
    FileGone,
    NameTooLong,
    NotOurs,
    NotPermitted,
    OutsideRoots,
    Ownership,
    ReadOnly,
    TooLarge,
    place,
    read_video,
    read_whole,
    within_roots,
)
from headrace_pipelines.subtitles.rules.moviehash import PIECE

DATA = "שלום\n".encode()
OTHER = b"edited by hand\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- writing -----------------------------------------------------------------------------------------------------------


def test_a_file_is_placed(tmp_path: Path) -> None:
    """Its digest is what tells it from a file that somebody else put there."""
    placed = place(tmp_path / "film.he.srt", DATA, roots=[tmp_path])

    assert (tmp_path / "film.he.srt").read_bytes() == DATA
    assert (placed.path, placed.sha256, placed.size, placed.backup) == (
        str(tmp_path / "film.he.srt"),
        digest(DATA),
        len(DATA),
        "",
    )
    assert names(tmp_path) == ["film.he.srt"]


def test_placing_twice_is_as_good_as_once(tmp_path: Path) -> None:
    """A step whose process died after the rename runs again, without the digest that it had no time to record."""
    first = place(tmp_path / "film.he.srt", DATA, roots=[tmp_path])

    assert place(tmp_path / "film.he.srt", DATA, roots=[tmp_path]) == first


def test_its_own_file_is_replaced(tmp_path: Path) -> None:
    """A better subtitle takes the place of the one before."""
    first = place(tmp_path / "film.he.srt", DATA, roots=[tmp_path])

    second = place(tmp_path / "film.he.srt", OTHER, roots=[tmp_path], known_sha256=first.sha256)

    assert (second.backup, names(tmp_path)) == ("", ["film.he.srt"])
    assert (tmp_path / "film.he.srt").read_bytes() == OTHER


@pytest.mark.parametrize("known", [None, digest(DATA)])
def test_a_file_of_somebody_else_is_not_replaced(tmp_path: Path, known: str | None) -> None:
    """Neither one that was always theirs nor one of ours that they have edited."""
    (tmp_path / "film.he.srt").write_bytes(OTHER)

    with pytest.raises(NotOurs, match=r"film\.he\.srt: there is a file that Headrace did not write.*overwrite=true"):
        place(tmp_path / "film.he.srt", DATA + b"new", roots=[tmp_path], known_sha256=known)

    assert (tmp_path / "film.he.srt").read_bytes() == OTHER
    assert names(tmp_path) == ["film.he.srt"]


def test_a_file_that_is_replaced_on_purpose_is_kept(tmp_path: Path) -> None:
    """Twice, if need be: an older backup is somebody's work, too."""
    target = tmp_path / "film.he.srt"
    target.write_bytes(OTHER)

    first = place(target, DATA, roots=[tmp_path], overwrite=True)
    target.write_bytes(b"edited again\n")
    second = place(target, DATA, roots=[tmp_path], overwrite=True)

    assert (Path(first.backup).name, Path(second.backup).name) == ("film.he.srt.bak", "film.he.srt.bak2")
    assert Path(first.backup).read_bytes() == OTHER
    assert Path(second.backup).read_bytes() == b"edited again\n"
    assert target.read_bytes() == DATA


def test_an_attempt_that_ended_half_way_leaves_one_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step runs again, and would keep the same file under a second name."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    (tmp_path / "film.he.srt").write_bytes(OTHER)
    with monkeypatch.context() as patch, pytest.raises(DiskFull):
        patch.setattr(os, "rename", refuse)
        place(tmp_path / "film.he.srt", DATA, roots=[tmp_path], overwrite=True)

    placed = place(tmp_path / "film.he.srt", DATA, roots=[tmp_path], overwrite=True)

    assert Path(placed.backup).read_bytes() == OTHER
    assert names(tmp_path) == ["film.he.srt", "film.he.srt.bak"]


def test_a_backup_needs_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network shares and memory cards have none."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    (tmp_path / "film.he.srt").write_bytes(OTHER)
    monkeypatch.setattr(os, "link", refuse)

    placed = place(tmp_path / "film.he.srt", DATA, roots=[tmp_path], overwrite=True)

    assert Path(placed.backup).read_bytes() == OTHER


def test_mode_and_owner_are_applied(tmp_path: Path) -> None:
    """A media server under another user could not read it."""
    place(
        tmp_path / "film.he.srt",
        DATA,
        roots=[tmp_path],
        ownership=Ownership(mode=0o664, user=os.getuid(), group=os.getgid()),
    )

    assert stat.S_IMODE((tmp_path / "film.he.srt").stat().st_mode) == 0o664


@pytest.mark.parametrize(
    "number, error",
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EROFS, ReadOnly),
        (errno.EACCES, NotPermitted),
        (errno.EPERM, NotPermitted),
        (errno.ENAMETOOLONG, NameTooLong),
        (errno.EIO, FileError),
    ],
)
@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_what_the_system_refuses_has_a_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, error: type[FileError]
) -> None:
    """A full disk is waited for, a read-only one is told to somebody; and nothing half-written is left."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "film.he.srt").write_bytes(OTHER)
    monkeypatch.setattr(os, call, refuse)

    with pytest.raises(error, match=os.strerror(number)) as caught:
        place(tmp_path / "film.he.srt", DATA, roots=[tmp_path], known_sha256=digest(OTHER))

    assert type(caught.value) is error
    assert caught.value.path == str(tmp_path / "film.he.srt")
    assert names(tmp_path) == ["film.he.srt"]
    assert (tmp_path / "film.he.srt").read_bytes() == OTHER


def test_errors_can_be_made_again_from_their_arguments() -> None:
    """They are recorded in journals."""
    error = DiskFull("/media/film.he.srt", "No space left on device")

    assert str(DiskFull(*error.args)) == "/media/film.he.srt: No space left on device; make space, then try again"


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """A film was moved between search and download."""
    with pytest.raises(FileGone, match="scan the library again"):
        place(tmp_path / "gone" / "film.he.srt", DATA, roots=[tmp_path])


def test_a_long_name_is_refused(tmp_path: Path) -> None:
    """And one of exactly 255 bytes is not, though its temporary name is longer."""
    place(tmp_path / ("a" * 251 + ".srt"), DATA, roots=[tmp_path])

    with pytest.raises(NameTooLong, match="256 bytes"):
        place(tmp_path / ("a" * 252 + ".srt"), DATA, roots=[tmp_path])


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    """It is told, not written over."""
    (tmp_path / "film.he.srt").mkdir()

    with pytest.raises(FileError, match="no regular file"):
        place(tmp_path / "film.he.srt", DATA, roots=[tmp_path])


# --- where -------------------------------------------------------------------------------------------------------------


def test_paths_within_the_roots(tmp_path: Path) -> None:
    """A link inside the library to another place inside it is how some people sort."""
    (tmp_path / "films").mkdir()
    (tmp_path / "new").symlink_to(tmp_path / "films")

    assert within_roots(tmp_path / "new" / "a.mkv", [tmp_path]) == tmp_path / "films" / "a.mkv"
    assert within_roots(tmp_path / "films" / "a.mkv", [tmp_path / "new"]) == tmp_path / "films" / "a.mkv"


@pytest.mark.parametrize(
    "path", ["../film.srt", "films/../../film.srt", "out/film.srt", "link.srt", "../library2/film.srt"]
)
def test_paths_that_lead_out_are_refused(tmp_path: Path, path: str) -> None:
    """Any file of the server could be read, and sent to a translator."""
    library, outside = tmp_path / "library", tmp_path / "library2"
    (library / "films").mkdir(parents=True)
    outside.mkdir()
    (outside / "film.srt").write_bytes(OTHER)
    (library / "out").symlink_to(outside)
    (library / "link.srt").symlink_to(outside / "film.srt")

    with pytest.raises(OutsideRoots, match="only files below the configured media folders"):
        within_roots(library / path, [library])
    with pytest.raises(OutsideRoots):
        place(library / path, DATA, roots=[library], overwrite=True)
    with pytest.raises(OutsideRoots):
        read_whole(library / path, [library], largest=100)

    assert (outside / "film.srt").read_bytes() == OTHER


def test_without_roots_nothing_is_allowed(tmp_path: Path) -> None:
    """A setting that was forgotten must not open the whole machine."""
    with pytest.raises(OutsideRoots):
        within_roots(tmp_path / "film.mkv", [])
    with pytest.raises(OutsideRoots):
        within_roots(tmp_path, [tmp_path])


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    """It ends somewhere."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    with pytest.raises(FileError):
        read_whole(tmp_path / "a", [tmp_path], largest=100)


def test_a_zero_in_a_name_is_an_error(tmp_path: Path) -> None:
    """It comes from an address, and ends the name for the system, not for us."""
    with pytest.raises(FileError, match="null"):
        within_roots(tmp_path / "film\0.mkv", [tmp_path])


# --- reading -----------------------------------------------------------------------------------------------------------


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    """A video with the name of a subtitle would fill the memory."""
    (tmp_path / "film.srt").write_bytes(b"0123456789")

    assert read_whole(tmp_path / "film.srt", [tmp_path], largest=10) == b"0123456789"
    with pytest.raises(TooLarge, match="more than 9 bytes"):
        read_whole(tmp_path / "film.srt", [tmp_path], largest=9)
    with pytest.raises(FileGone):
        read_whole(tmp_path / "gone.srt", [tmp_path], largest=9)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A read from one lasts until somebody writes, which may be never."""
    os.mkfifo(tmp_path / "film.srt")

    with pytest.raises(FileError, match="no regular file"):
        read_whole(tmp_path / "film.srt", [tmp_path], largest=9)


def test_a_video_is_known_by_its_ends(tmp_path: Path) -> None:
    """The whole file may have sixty gigabytes."""
    data = bytes(7 * i % 251 for i in range(1_000_003))
    (tmp_path / "film.mkv").write_bytes(data)

    found = read_video(tmp_path / "film.mkv", [tmp_path])

    assert (found.size, found.head, found.tail) == (len(data), data[:PIECE], data[-PIECE:])
    assert found.moviehash == "92acb3d2da072802"
    assert (found.inode, found.mtime_ns) == (
        (tmp_path / "film.mkv").stat().st_ino,
        (tmp_path / "film.mkv").stat().st_mtime_ns,
    )


def test_a_small_video_has_no_fingerprint(tmp_path: Path) -> None:
    """A sample, or one that is still being copied."""
    (tmp_path / "film.mkv").write_bytes(bytes(131_071))

    assert read_video(tmp_path / "film.mkv", [tmp_path]).moviehash is None


def test_a_sparse_giant_is_read_at_once(tmp_path: Path) -> None:
    """Beyond four gigabytes the size no longer fits into 32 bits."""
    with (tmp_path / "film.mkv").open("wb") as file:
        file.truncate(5_000_000_000)

    assert read_video(tmp_path / "film.mkv", [tmp_path]).moviehash == f"{5_000_000_000:016x}"
