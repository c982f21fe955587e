"""The store that a command speaks of: which file, what is in it, and who runs it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headrace._cli.problem import Problem, WrongUse
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from headrace._store.location import Location
    from headrace._store.opening import StoreReader
    from headrace.settings import LoadedSettings

F = TypeVar("F", bound=Callable[..., Any])

_HELP = "The file that holds all runs, or a postgresql:// URL; by default HEADRACE_STORE__PATH, or headrace.db in this folder."


def store_option(function: F) -> F:
    """``--store``, given to the command as an absolute path or a URL."""

    @click.option("--store", metavar="STORE", callback=_no_folder, help=_HELP)
    @functools.wraps(function)
    def command(*args: Any, store: str | None, **options: Any) -> Any:
        return function(*args, store=store_location(store), **options)

    return command  # type: ignore[return-value]  # click replaces the signature anyway


def load_settings(**options: str | None) -> LoadedSettings:
    """The settings, options first (``store__path=...``); a wrong one ends the command."""
    from headrace.settings import read_settings

    try:
        return read_settings(options={name.replace("__", "."): value for name, value in options.items()})
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
    """Read the store; it may be in use."""
    from headrace._store.opening import open_reader as open_store_reader

    check_readable(location)
    return open_store_reader(location)


def _no_folder(_: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given is not None and Path(given).is_dir():
        raise click.BadParameter(f"File {given!r} is a directory.", param=parameter)
    return given
