"""The names that users may rely on; a change here needs a line in the changelog."""

from __future__ import annotations

import importlib

import pytest

from tests.tree import ROOT

FROZEN = (ROOT / "tests" / "architecture" / "public_names.txt").read_text()


def frozen() -> dict[str, list[str]]:
    """`[module]`, then a name a line."""
    modules: dict[str, list[str]] = {}
    for line in (line.split("#")[0].strip() for line in FROZEN.splitlines()):
        if line.startswith("["):
            modules[line.strip("[]")] = []
        elif line:
            modules[list(modules)[-1]].append(line)
    return modules


@pytest.mark.parametrize("module", frozen())
def test_exported_names_are_frozen(module: str) -> None:
    """Users' imports break when a name disappears, and a name that slips in must be kept for ever."""
    exported = importlib.import_module(module).__all__

    assert sorted(exported) == sorted(frozen()[module])


@pytest.mark.parametrize("module", frozen())
def test_exported_names_exist(module: str) -> None:
    """Names are loaded late, so a wrong one would show only where it is used."""
    namespace = importlib.import_module(module)

    assert [name for name in namespace.__all__ if not hasattr(namespace, name)] == []


@pytest.mark.parametrize("module", frozen())
def test_exported_names_are_listed_by_dir(module: str) -> None:
    """Completion in editors and shells is how people find names that are loaded late."""
    namespace = importlib.import_module(module)

    assert set(namespace.__all__) <= set(dir(namespace))
