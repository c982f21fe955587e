"""What the user wants to run: ``package.module``, ``package.module:pipeline`` or ``path/to/file.py[:pipeline]``."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import click

from headrace._authoring.flow import Flow
from headrace._authoring.pipeline import Pipeline, Registry
from headrace._cli import installed
from headrace._cli.problem import WrongUse
from headrace.errors import HeadraceError

FORMS = "the name of an installed pipeline, package.module, package.module:pipeline, or path/to/file.py"


def load(targets: Sequence[str]) -> list[Pipeline]:
    """The pipelines that the targets name, each once; raises ``WrongUse`` with the reason."""
    if not targets:
        command = click.get_current_context().command_path
        raise WrongUse("the TARGET is missing", hint=f"for example: {command} examples/hello.py. A TARGET is {FORMS}")
    found: list[Pipeline] = []
    for target in targets:
        found += [pipeline for pipeline in _pipelines_in(target) if pipeline not in found]
    try:
        Registry.of(found)
    except HeadraceError as error:
        raise WrongUse(str(error), code="target") from error
    return found


def _pipelines_in(target: str) -> list[Pipeline]:
    place, name = _split(installed.pipeline_place(target) or target)
    module = _import_file(Path(place)) if _is_file(place) else _import_module(place)
    if name:
        value = getattr(module, name, None)
        if not isinstance(value, Pipeline):
            what = f"{place} has no {name!r}" if value is None else f"{name!r} in {place} is no Pipeline"
            known = ", ".join(_named_pipelines(module)) or "none"
            raise WrongUse(f"{what}; pipelines in it: {known}", code="target")
        return [value]
    pipelines = list(_named_pipelines(module).values())
    if not pipelines:
        flows = [value.name for value in vars(module).values() if isinstance(value, Flow)]
        example = f'pipeline = Pipeline("{_word(module)}", flows=[{", ".join(flows) or "..."}])'
        raise WrongUse(f"{place} has no Pipeline", code="target", hint=f"add one: {example}")
    return pipelines


def _split(target: str) -> tuple[str, str]:
    place, colon, name = target.rpartition(":")
    return (place, name) if colon and name.isidentifier() else (target, "")


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place


def _named_pipelines(module: ModuleType) -> dict[str, Pipeline]:
    found: dict[str, Pipeline] = {}
    for name, value in vars(module).items():
        if isinstance(value, Pipeline) and value not in found.values():
            found[name] = value
    return found


def _word(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].lower().strip("_") or "mine"


def _import_file(path: Path) -> ModuleType:
    file = path.resolve()
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise WrongUse(f"{path} {what}; a TARGET is {FORMS}", code="target")
    root, name = file.parent, file.stem
    # A module of a package keeps its full name, so that what it records is the same however it was started.
    while (root / "__init__.py").exists():
        root, name = root.parent, f"{root.name}.{name}"
    if not all(part.isidentifier() for part in name.split(".")):
        raise WrongUse(f"{path} cannot be imported, because {name!r} is no module name; rename the file", code="target")
    sys.path.insert(0, str(root))
    module = _import(name, str(path))
    if module.__file__ is None or Path(module.__file__).resolve() != file:
        raise WrongUse(f"{path} is hidden by another module called {name!r}; rename the file", code="target")
    return module


def _import_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise WrongUse(f"{name!r} is no module name; a TARGET is {FORMS}", code="target")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return _import(name, name)
    except ModuleNotFoundError as error:
        raise WrongUse(f"there is no module {error.name!r}; a TARGET is {FORMS}", code="target") from error


def _import(name: str, shown: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise
        raise WrongUse(_failed(shown, error), code="target", hint="install it, or see --debug") from error
    except HeadraceError as error:
        raise WrongUse(f"{shown}: {error}", code="target") from error
    except SystemExit as error:
        guard = 'put what starts the program under: if __name__ == "__main__":'
        raise WrongUse(f"{shown} ended the program while it was imported", code="target", hint=guard) from error
    except Exception as error:  # it is the user's code; whatever it raises, the line is what helps
        raise WrongUse(_failed(shown, error), code="target", hint="--debug shows the stack trace") from error


def _failed(shown: str, error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{shown} cannot be imported: {error.msg} ({error.filename}:{error.lineno})"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{shown} cannot be imported: {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
