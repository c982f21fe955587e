"""TARGET: every form that users write, and a reason for every one that does not work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from headrace._cli.problem import WrongUse
from headrace._cli.target import load

GOOD = """
from headrace import Pipeline, flow

@flow
async def hello() -> int:
    return 1

pipeline = Pipeline({name!r}, flows=[hello])
again = pipeline
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own to stand in; what is imported from it is forgotten afterwards."""
    known, path = set(sys.modules), sys.path[:]
    monkeypatch.chdir(tmp_path)
    with click.Context(click.Command("up"), info_name="headrace up"):
        yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]


def written(name: str, text: str = GOOD) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{name!r}", repr(path.stem)))
    return path


@pytest.mark.parametrize(
    "target", ["t_forms.py", "./t_forms.py", "t_forms.py:pipeline", "t_forms", "t_forms:pipeline", "t_forms:again"]
)
def test_every_form_finds_the_pipeline(target: str) -> None:
    """Whichever way a user thinks of it."""
    written("t_forms.py")

    assert [pipeline.name for pipeline in load([target])] == ["t_forms"]


def test_targets_that_overlap_count_once() -> None:
    """Naming the same pipeline twice is no reason to fail."""
    written("t_twice.py")

    assert len(load(["t_twice.py", "t_twice:pipeline"])) == 1


def test_file_of_a_package_keeps_its_full_name() -> None:
    """Errors are recorded with their module: another name for it would lose their class after a restart."""
    written("t_package/__init__.py", "")
    written("t_package/inner/__init__.py", "")
    written("t_package/inner/t_flows.py")

    (pipeline,) = load(["t_package/inner/t_flows.py"])

    assert pipeline.flows[0].fn.__module__ == "t_package.inner.t_flows"


def test_two_pipelines_of_one_name_are_refused() -> None:
    """Their flows would answer for each other's runs."""
    written("t_first.py", GOOD.replace("{name!r}", "'same'"))
    written("t_second.py", GOOD.replace("{name!r}", "'same'"))

    with pytest.raises(WrongUse, match="two pipelines are called 'same'"):
        load(["t_first.py", "t_second.py"])


BAD = {
    "t_absent.py": ("", "does not exist"),
    "t_empty.py": ("x = 1", "has no Pipeline"),
    "t_syntax.py": ("def (", r"cannot be imported: invalid syntax \(.*t_syntax.py:1\)"),
    "t_raises.py": ("\n1 / 0", r"ZeroDivisionError: division by zero \(.*t_raises.py:2\)"),
    "t_needs.py": ("import t_not_there", "No module named 't_not_there'"),
    "t_exits.py": ("raise SystemExit(3)", "ended the program"),
    "t_flow.py": ("from headrace import flow\n@flow\ndef f() -> int: ...", "a flow is an 'async def' function"),
    "t-dash.py": (GOOD, "is no module name"),
    "json.py": (GOOD, "hidden by another module called 'json'"),
    "t_name.py:nope": (GOOD, "t_name.py has no 'nope'; pipelines in it: pipeline"),
    "t_kind.py:hello": (GOOD, "'hello' in t_kind.py is no Pipeline"),
    "t_nowhere": ("", "there is no module 't_nowhere'"),
    "t nothing": ("", "is no module name"),
}


@pytest.mark.parametrize("target", BAD)
def test_what_does_not_work_has_a_reason(target: str) -> None:
    """The first five minutes are spent here."""
    text, reason = BAD[target]
    if text:
        written(target.partition(":")[0], text)

    with pytest.raises(WrongUse, match=reason):
        load([target])


def test_no_target_gives_an_example() -> None:
    """`headrace up` alone is the first thing that people type."""
    with pytest.raises(WrongUse) as refused:
        load([])

    assert "for example: headrace up" in refused.value.hint
