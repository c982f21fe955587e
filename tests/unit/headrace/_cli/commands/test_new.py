"""`headrace new`: what it makes, and what it refuses."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace._cli.main import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*words: str) -> Result:
    return CliRunner().invoke(main, ["new", *words])


def test_it_makes_a_project_and_says_what_to_do_next(here: Path) -> None:
    """The next command is what a newcomer looks for."""
    outcome = new("shop")

    assert outcome.exit_code == 0
    assert "headrace up shop --stand-ins" in outcome.stdout
    assert tomllib.loads((here / "shop" / "pyproject.toml").read_text())["project"]["name"] == "shop"
    assert sorted(path.name for path in (here / "shop").iterdir()) == [".gitignore", "README.md", "pyproject.toml", "shop", "tests"]  # fmt: skip


def test_no_place_is_left_to_fill_in(here: Path) -> None:
    """A forgotten one would be found by whoever runs it first."""
    files = json.loads(new("shop", "--json").stdout)["files"]

    texts = {name: (here / "shop" / name).read_text() for name in files}
    assert [name for name, text in texts.items() if "$" in text] == []
    for name, text in texts.items():
        if name.endswith(".py"):
            ast.parse(text, name)
    assert "HEADRACE_SHOP_PRICES_URL" in texts["shop/wiring.py"]


def test_it_may_go_anywhere(here: Path) -> None:
    """An empty folder, such as one just cloned, may be filled."""
    (here / "empty").mkdir()
    there = json.loads(new("shop", "--folder", "empty", "--json").stdout)
    deep = new("shop", "--folder", "deep/down/there")

    assert there["folder"] == str(here / "empty")
    assert (here / "empty" / "shop" / "flow.py").is_file()
    assert deep.exit_code == 0
    assert (here / "deep" / "down" / "there" / "README.md").is_file()


@pytest.mark.parametrize("is_file", [True, False])
def test_nothing_is_overwritten(here: Path, is_file: bool) -> None:
    """What stands there may be somebody's work."""
    place = here / "shop"
    if not is_file:
        place.mkdir()
    kept = place if is_file else place / "mine.txt"
    kept.write_text("mine")

    outcome = new("shop", "--json")

    assert (outcome.exit_code, json.loads(outcome.stdout)["error"]["code"]) == (4, "exists")
    assert kept.read_text() == "mine"


@pytest.mark.parametrize(
    "name,reason",
    [
        ("My-Shop", "headrace new my_shop"),
        ("2goals", "headrace new goals"),
        ("größe", "lower-case letters"),
        ("../shop", "headrace new shop"),
        ("", "headrace new my_pipeline"),
        ("class", "a word of Python"),
        ("json", "a module of that name"),
        ("headrace", "a module of that name"),
        ("pytest", "a module of that name"),
        ("tests", "a module of that name"),
        ("runs", "a command of headrace"),
        ("store", "the settings of headrace"),
    ],
)
def test_names_that_would_make_trouble_are_refused(here: Path, name: str, reason: str) -> None:
    """The trouble would come much later, and look like something else."""
    outcome = new(name)

    assert outcome.exit_code == 2
    assert reason in outcome.stderr
    assert list(here.iterdir()) == []
