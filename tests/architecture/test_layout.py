"""Where things lie."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.tree import ROOT, SOURCE, files

# Names that say how something is used, not what it is: everything ends up in them.
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "core2", "shared", "stuff"}


def sources() -> list[Path]:
    return [path for path in files() if path.suffix == ".py" and path.is_relative_to(SOURCE)]


def test_unit_tests_mirror_the_source() -> None:
    """Who changes a module finds its tests without searching, and a module that is gone takes its tests along."""
    unit = ROOT / "tests" / "unit"
    orphans = []
    for test in (path for path in files() if path.is_relative_to(unit) and path.name.startswith("test_")):
        folder, side = SOURCE / test.relative_to(unit).parent, test.stem.removeprefix("test_")
        # A module with many sides has test_<module>_<side>.py beside test_<module>.py.
        known = {path.stem.strip("_") for path in folder.glob("*") if path.suffix in {".py", ".sql", ""}}
        if not any(side == name or side.startswith(f"{name}_") for name in known):
            orphans.append(str(test.relative_to(ROOT)))

    assert orphans == []


def test_modules_are_named_by_nouns() -> None:
    """A module called after nothing in particular collects everything."""
    assert [
        str(path)
        for path in files()
        if path.suffix == ".py"
        and VAGUE & {part.removesuffix(".py").strip("_") for part in path.relative_to(ROOT).parts}
    ] == []


def test_packages_are_regular() -> None:
    """A folder without __init__.py is a namespace package: tools skip it, and wheels may too."""
    folders = {path.parent for path in sources()}

    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_dataclasses_are_frozen_or_private() -> None:
    """Values that cross modules do not change under the reader's hands."""
    loose = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                loose += [
                    f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                    for mark in node.decorator_list
                    if _is_loose(mark, path, node.name)
                ]

    assert loose == []


def _is_loose(mark: ast.expr, path: Path, name: str) -> bool:
    """A public dataclass of a public module that can be changed by whoever holds it."""
    if name.startswith("_") or any(part.startswith("_") for part in path.relative_to(SOURCE).parts):
        return False
    call = mark.func if isinstance(mark, ast.Call) else mark
    if not (isinstance(call, ast.Name) and call.id == "dataclass"):
        return False
    options = {word.arg: word.value for word in mark.keywords} if isinstance(mark, ast.Call) else {}
    frozen = options.get("frozen")
    return not (isinstance(frozen, ast.Constant) and frozen.value is True)


def test_tests_say_what_they_promise() -> None:
    """A test without a reason is kept for ever, or deleted by the first who is in its way."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in files()
        if path.suffix == ".py" and path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]

    assert silent == []
