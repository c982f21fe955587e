"""The store that a command speaks of: which file, what is in it, and who runs it."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headrace._cli.problem import Problem, WrongUse
from headrace._cli.screen import Screen
from headrace.errors import ConfigurationError, KeyMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from headrace._ports.clock import Clock
    from headrace._ports.database import Database
    from headrace._store.sqlite import SqliteReader
    from headrace.settings import LoadedSettings

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_HELP = "The file that holds all runs; by default HEADRACE_STORE__PATH, or headrace.db in this folder."


def store_option(function: F) -> F:
    """``--store``, given to the command as an absolute path."""

    @click.option("--store", type=click.Path(dir_okay=False), metavar="FILE", help=_HELP)
    @functools.wraps(function)
    def command(*args: Any, store: str | None, **options: Any) -> Any:
        return function(*args, store=store_path(store), **options)

    return command  # type: ignore[return-value]  # click replaces the signature anyway


def load_settings(pipelines: Mapping[str, type[BaseModel]] | None = None, /, **options: str | None) -> LoadedSettings:
    """The settings, options first (``store__path=...``), with those of pipelines; a wrong one ends the command."""
    from headrace.settings import read_settings

    given = {name.replace("__", "."): value for name, value in options.items()}
    try:
        return read_settings(options=given, pipelines=pipelines)
    except ConfigurationError as error:
        raise WrongUse(str(error), code="configuration_error") from error


def store_path(given: str | None) -> Path:
    return load_settings(store__path=given).settings.store.path.absolute()


def check_readable(path: Path) -> None:
    """SQLite needs a file beside a store even to read it; raises ``Problem`` where it cannot be made."""
    if path.exists() and not path.with_name(path.name + "-shm").exists() and not os.access(path.parent, os.W_OK):
        message = f"{path.parent} cannot be written, and reading the store needs a file beside it"
        raise Problem(message, code="no_permission", hint="copy the file into a folder of your own and read it there")


def check_writable(path: Path) -> None:
    """Raises ``Problem`` where a store could not be changed or made."""
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            hint = "run it as the user who owns it, or use another --store"
            raise Problem(f"{place} cannot be written by this user", code="no_permission", hint=hint)


def open_reader(path: Path) -> SqliteReader:
    """Read the file; it may be in use. Its values can be read, or this is refused."""
    from headrace._app.keys import vault_of
    from headrace._store.sqlite import open_sqlite_reader

    check_readable(path)
    return open_sqlite_reader(path, vault=vault_of(load_settings().settings.store))


def open_to_look(screen: Screen, path: Path) -> SqliteReader:
    """The same for those who only look: a value whose key is missing is shown as encrypted, and a note says so."""
    from headrace._app.keys import vault_of
    from headrace._store.keyring import missing_keys
    from headrace._store.sqlite import open_sqlite_reader

    check_readable(path)
    reader = open_sqlite_reader(path, vault=vault_of(load_settings().settings.store, veil=True))
    if missing := reader.read(missing_keys):
        screen.note(str(KeyMissing(*missing)))
    return reader


def change_store(path: Path, change: Callable[[Database, Clock], Awaitable[T]], *, must_exist: bool = False) -> T:
    """Own the file for as long as one change takes; it is made when it is not there, unless ``must_exist``."""
    import asyncio

    from headrace._app.keys import vault_of
    from headrace._base.clock import SystemClock
    from headrace._store.sqlite import open_sqlite

    if must_exist and not path.exists():
        raise Problem(f"there is no store at {path}", code="no_store", hint="give its path: --store FILE")
    check_writable(path)
    vault = vault_of(load_settings().settings.store)

    async def work() -> T:
        database = await open_sqlite(path, vault=vault)
        try:
            return await change(database, SystemClock())
        finally:
            await database.close()

    return asyncio.run(work())
