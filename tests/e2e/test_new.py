"""A pipeline made by `headrace new`, as its author meets it: tested, run, and spoken to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(place: Place) -> Place:
    """The folder that `headrace new shop` has made."""
    made = place.run("new", "shop")
    assert made.code == 0, made.err
    place.folder = place.folder / "shop"
    return place


def run(project: Place, *command: str) -> subprocess.CompletedProcess[str]:
    """A tool of this interpreter, in the project; nothing of the test that runs here reaches it."""
    environment = {name: value for name, value in project.environment.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_its_tests_pass(project: Place) -> None:
    """A newcomer whose first tests fail does not come back."""
    tested = run(project, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")

    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "7 passed" in tested.stdout


def test_it_runs_at_once(project: Place) -> None:
    """An event goes in, and whoever follows the log sees the answer."""
    _, up = project.up("--stand-ins", target="shop")
    following = project.begin("events", "tail", "quote.#", "-f", "--json")
    published = project.run("events", "publish", "quote.asked", "--subject", "pen")
    assert following.stdout is not None
    asked, answered = (json.loads(following.stdout.readline()) for _ in range(2))
    history = project.run("runs", "history", "answer-pen", "--json")
    job = project.run("jobs", "show", "quote", "pen", "--json")

    assert up["stand_ins"] is True
    assert up["subscriptions"] == {"shop": {"shop.answer": ["quote.asked", "quote.retried"]}}
    assert published.code == 0
    assert (asked["topic"], answered["topic"]) == ("quote.asked", "quote.answered")
    assert answered["data"] == {"item": "pen", "cents": 250}
    assert [entry["attempt"] for entry in history.json["entries"] if entry["kind"] == "step"] == [3]
    assert job.json["job"]["state"] == "answered"


def test_without_its_service_it_says_what_to_set(project: Place) -> None:
    """A stand-in that was taken for the real service would be found out late."""
    refused = project.run("up", "shop", "--port", "0")

    assert refused.code == 4
    assert "HEADRACE_SHOP_PRICES_URL" in refused.err
    assert "--stand-ins" in refused.err


@pytest.mark.slow
def test_its_code_is_clean(project: Place) -> None:
    """What people begin with is what they go on with."""
    bin_folder = Path(sys.executable).parent
    rules = ["--isolated", "--line-length", "120", "--no-cache"]
    checks = [
        [str(bin_folder / "ruff"), "check", *rules, "--select", "ASYNC,B,E,F,I,N,PT,RUF,SIM,UP,W", "."],
        [str(bin_folder / "ruff"), "format", *rules, "--check", "."],
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "shop", "tests"],
    ]

    for command in checks:
        checked = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
