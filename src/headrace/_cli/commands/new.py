"""``headrace new``: a pipeline to begin with."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from string import Template

import click

from headrace._base.wording import count
from headrace._cli.problem import Problem, WrongUse
from headrace._cli.screen import Screen, common, printable

_SUFFIX = ".template"
_NEXT = """\
Next, in {folder}:
  pytest
  headrace up {name} --stand-ins
Then, in another terminal and the same folder:
  headrace events publish quote.asked --subject pen
  headrace jobs show quote pen
README.md says what you see."""


@click.command()
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to put it; by default a folder called NAME, here.")  # fmt: skip
@common
def new(screen: Screen, name: str, folder: Path | None) -> None:
    """Make a folder with a pipeline of your own that runs at once.

    It has a flow with a step that is retried, an outside service with a stand-in, events, a job, and tests.
    NAME is that of the pipeline and its package. Nothing is ever overwritten.
    """
    _check(name)
    place = folder if folder is not None else Path(name)
    _check_free(place)
    files = {path: Template(text).substitute(name=name, NAME=name.upper()) for path, text in _templates(name)}
    for path, text in files.items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    if screen.as_json:
        screen.give({"name": name, "folder": str(place.absolute()), "files": [str(path) for path in files]})
    else:
        screen.say(printable(f"{place}: a pipeline in {count(len(files), 'file')}\n"))
        screen.say(_NEXT.format(name=name, folder=printable(str(place))))


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise WrongUse(
            f"{name!r} cannot be the name of a pipeline: use lower-case letters, digits and underscores",
            hint=f"for example: headrace new {_near(name)}",
        )
    reason = _why_taken(name)
    if reason:
        raise WrongUse(f"{name!r} cannot be the name of a pipeline: {reason}", hint="take another one")


def _near(name: str) -> str:
    """The nearest name that would do."""
    near = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").lstrip("0123456789_")
    return near if near and not _why_taken(near) else "my_pipeline"


def _why_taken(name: str) -> str:
    from headrace._cli.main import COMMANDS
    from headrace.settings import Settings

    if keyword.iskeyword(name):
        return "it is a word of Python"
    if name in COMMANDS:
        return "it is a command of headrace"
    if name in Settings.model_fields:
        return "the settings of headrace have a group of that name"
    if name == "tests" or name in sys.stdlib_module_names or _is_installed(name):
        return "Python has a module of that name already"
    return ""


def _is_installed(name: str) -> bool:
    # A folder without code is found as well, and is no reason to refuse; the one to be filled may be that.
    spec = find_spec(name)
    return spec is not None and spec.origin is not None


def _check_free(place: Path) -> None:
    if place.is_dir() and not any(place.iterdir()):
        return
    if place.exists() or place.is_symlink():
        raise Problem(
            f"{place} is there already, and nothing is ever overwritten",
            code="exists",
            hint="take another NAME, or name an empty place with --folder",
        )


def _templates(name: str) -> Iterator[tuple[PurePosixPath, str]]:
    """Where each file goes, and its text with places to fill in."""
    for path, source in _files(resources.files("headrace._cli").joinpath("pipeline_template"), PurePosixPath()):
        if path.name.endswith(_SUFFIX):
            yield _destination(path, name), source.read_text(encoding="utf-8")


def _files(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, path / entry.name)
        else:
            yield path / entry.name, entry


def _destination(path: PurePosixPath, name: str) -> PurePosixPath:
    own = path.name.removesuffix(_SUFFIX)
    # Called so in the package, since git would obey it there.
    parts = [*path.parent.parts, ".gitignore" if own == "gitignore" else own]
    return PurePosixPath(*(name if at == 0 and part == "package" else part for at, part in enumerate(parts)))
