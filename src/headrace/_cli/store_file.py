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
    from headrace._store.location import Location
    from headrace._store.opening import StoreReader
    from headrace.settings import LoadedSettings

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_HELP = "The file that holds all runs, or a postgresql:// URL; by default HEADRACE_STORE__PATH, or headrace.db in this folder."


def store_option(function: F) -> F:
    """``--store``, given to the command as an absolute path or a URL."""

    @click.option("--store", metavar="STORE", callback=_no_folder, help=_HELP)
    @functools.wraps(function)
    def command(*args: Any, store: str | None, **options: Any) -> Any:
        return function(*args, store=store_location(store), **options)

    return command  # type: ignore[return-value]  # click replaces the signature anyway


def load_settings(pipelines: Mapping[str, type[BaseModel]] | None = None, /, **options: str | None) -> LoadedSettings:
    """The settings, options first (``store__path=...``), with those of pipelines; a wrong one ends the command."""
    from headrace.settings import read_settings

    given = {name.replace("__", "."): value for name, value in options.items()}
    try:
        return read_settings(options=given, pipelines=pipelines)
    except ConfigurationError as error:
        raise WrongUse(str(error), code="configuration_error") from error


def store_location(given: str | None) -> Location:
    return load_settings(store__path=given).settings.store.location


def store_path(given: str | None, *, instead: str) -> Path:
    """For what makes sense of files alone; ``instead`` says how the same is done with a database."""
    location = store_location(given)
    if isinstance(location, Path):
        return location
    raise Problem(f"{location} is a database, not a file", code="no_file", hint=instead)


def check_readable(location: Location) -> None:
    """SQLite needs a file beside a store even to read it; raises ``Problem`` where it cannot be made."""
    if not isinstance(location, Path):
        return
    beside = location.with_name(location.name + "-shm")
    if location.exists() and not beside.exists() and not os.access(location.parent, os.W_OK):
        message = f"{location.parent} cannot be written, and reading the store needs a file beside it"
        raise Problem(message, code="no_permission", hint="copy the file into a folder of your own and read it there")


def check_writable(location: Location) -> None:
    """Raises ``Problem`` where a store could not be changed or made."""
    for place in (location, location.parent) if isinstance(location, Path) else ():
        if place.exists() and not os.access(place, os.W_OK):
            hint = "run it as the user who owns it, or use another --store"
            raise Problem(f"{place} cannot be written by this user", code="no_permission", hint=hint)


def open_reader(location: Location) -> StoreReader:
    """Read the store; it may be in use. Its values can be read, or this is refused."""
    from headrace._app.keys import vault_of
    from headrace._store.opening import open_reader as open_store_reader

    check_readable(location)
    return open_store_reader(location, vault=vault_of(load_settings().settings.store))


def open_to_look(screen: Screen, location: Location) -> StoreReader:
    """The same for those who only look: a value whose key is missing is shown as encrypted, and a note says so."""
    from headrace._app.keys import vault_of
    from headrace._store.keyring import missing_keys
    from headrace._store.opening import open_reader as open_store_reader

    check_readable(location)
    reader = open_store_reader(location, vault=vault_of(load_settings().settings.store, veil=True))
    if missing := reader.read(missing_keys):
        screen.note(str(KeyMissing(*missing)))
    return reader


def change_store(
    location: Location, change: Callable[[Database, Clock], Awaitable[T]], *, must_exist: bool = False
) -> T:
    """Own the store for as long as one change takes; it is made when it is not there, unless ``must_exist``."""
    import asyncio

    from headrace._app.keys import vault_of
    from headrace._base.clock import SystemClock
    from headrace._store.opening import is_there, open_store

    if must_exist and not is_there(location):
        raise Problem(f"there is no store at {location}", code="no_store", hint="give its path: --store FILE")
    check_writable(location)
    vault = vault_of(load_settings().settings.store)

    async def work() -> T:
        database = await open_store(location, vault=vault)
        try:
            return await change(database, SystemClock())
        finally:
            await database.close()

    return asyncio.run(work())


def _no_folder(_: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given is not None and Path(given).is_dir():
        raise click.BadParameter(f"File {given!r} is a directory.", param=parameter)
    return given
