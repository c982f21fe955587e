import os
import sqlite3  # noqa: TID251  what is kept away
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace._store import stdlib_guard
from headrace.errors import ConfigurationError


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "store.db"
    path.touch()
    stdlib_guard.guard(path)
    yield path
    stdlib_guard.release(path)


def test_the_open_file_is_refused(guarded: Path) -> None:
    """Closing a second library's handle drops the locks of the first, and two owners corrupt the file."""
    with pytest.raises(ConfigurationError, match="Read through the store"):
        sqlite3.connect(guarded)


def test_other_names_of_the_file_are_refused(guarded: Path) -> None:
    """Links and URIs lead to the same file."""
    link, hard = guarded.with_name("link.db"), guarded.with_name("hard.db")
    link.symlink_to(guarded)
    hard.hardlink_to(guarded)

    for name in (str(link), os.fsencode(hard), f"file:{guarded}?mode=ro"):
        with pytest.raises(ConfigurationError):
            sqlite3.connect(name, uri=True)


def test_other_files_are_free(guarded: Path) -> None:
    """Users have databases of their own."""
    sqlite3.connect(guarded.with_name("own.db")).close()
    sqlite3.connect(":memory:").close()


def test_the_file_is_free_after_closing(guarded: Path) -> None:
    """A closed store is a plain file, which any tool may look at."""
    stdlib_guard.guard(guarded)
    stdlib_guard.release(guarded)
    with pytest.raises(ConfigurationError):
        sqlite3.connect(guarded)

    stdlib_guard.release(guarded)

    sqlite3.connect(guarded).close()
