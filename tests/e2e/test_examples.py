"""The examples as a newcomer meets them: one command each, in an empty folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.tree import ROOT

pytestmark = pytest.mark.e2e

EXAMPLES = ROOT / "examples"


def run_example(name: str, folder: Path) -> list[str]:
    """Run an example that has to succeed; returns the lines it printed."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    environment = {**os.environ, "PYTHONPATH": ""}

    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    return [line.strip() for line in ran.stdout.splitlines()]


def test_an_order_is_paid_at_the_third_attempt(tmp_path: Path) -> None:
    """The tutorial shows this output; a step that is retried, a timer and a child run must give it."""
    lines = run_example("orders.py", tmp_path)

    assert lines == [
        "reserve pen",
        "reserve ink",
        "reserve paper",
        "charge order 7, attempt 1",
        "charge order 7, attempt 2",
        "charge order 7, attempt 3",
        "parcel 7 leaves with pen, ink, paper",
        "order-7: delivered, paid-order-7/1/3",
    ]


def test_an_order_that_is_known_is_not_paid_again(tmp_path: Path) -> None:
    """Starting twice is how people lose money; the second start has to join the first run."""
    first = run_example("orders.py", tmp_path)
    second = run_example("orders.py", tmp_path)

    assert second == first[-1:]


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """The reason for all the rest: finished steps stay finished, the interrupted one runs again with its key."""
    lines = run_example("survivor.py", tmp_path)

    laid = [match.groups() for line in lines if (match := re.search(r"process (\d+) lays brick (\d) .*/(\d)$", line))]
    assert [int(brick) for _, brick, _ in laid] == [1, 2, 3, 4, 5, 5, 6, 7, 8]
    assert [int(command) for _, _, command in laid] == [0, 1, 2, 3, 4, 4, 5, 6, 7]
    assert [process == laid[0][0] for process, *_ in laid] == [True] * 5 + [False] * 4
    assert lines[-1].endswith("is 8 bricks high")


def test_an_article_waits_for_its_editor(tmp_path: Path) -> None:
    """A reminder comes from a durable timer, and a decision reaches a run that was only a row in between."""
    lines = run_example("approval.py", tmp_path)

    assert lines[:3] == ["check spelling", "check links", "check facts"]
    assert re.fullmatch(r"to editor: may 'rivers-\d+' be published\?", lines[3])
    assert any("still waits for you" in line for line in lines[4:-1])
    assert lines[-1].endswith(": published by Ada")


def test_the_demo_finds_what_it_promised(tmp_path: Path) -> None:
    """`make demo` is the first thing anybody sees, and its exit status is the truth."""
    lines = run_example("demo.py", tmp_path)

    assert [line for line in lines if line.startswith("NO")] == []
    assert len([line for line in lines if line.startswith("yes")]) == 8
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short(path: Path) -> None:
    """A newcomer reads an example to its end only if it fits on one screen."""
    limit = 120 if path.name in ("demo.py", "library.py") else 60  # what `make demo` shows, and nobody writes after

    assert len(path.read_text("utf-8").splitlines()) < limit


HEADRACE = [sys.executable, "-m", "headrace"]


@contextmanager
def up(name: str, folder: Path) -> Iterator[None]:
    """`headrace up examples/NAME` in a folder, until the end of the block."""
    command = [*HEADRACE, "up", str(EXAMPLES / name), "--port", "0"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "stops it" in line:
                break
        yield
        process.terminate()
        process.stdout.read()
        assert process.wait(timeout=20) == 0, (folder / "log").read_text()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def headrace(folder: Path, *arguments: str) -> str:
    command = [*HEADRACE, "runs", *arguments]

    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_examples_run_under_the_command_line(tmp_path: Path) -> None:
    """The tutorial starts runs of the same files by hand."""
    order = '{"number": 8, "items": ["pen"]}'
    with up("orders.py", tmp_path):
        assert "delivered, paid-order-8/1/1" in headrace(
            tmp_path, "start", "place_order", "--arg", f"order={order}", "--wait"
        )


def test_a_decision_from_the_command_line_reaches_the_article(tmp_path: Path) -> None:
    """This is how a person answers a run, word for word as in the tutorial."""
    with up("approval.py", tmp_path):
        headrace(tmp_path, "start", "publish", "--arg", "title=rivers", "--arg", "text=water")
        headrace(tmp_path, "send", "article-rivers", "decision", '{"by": "Ada", "approved": true}')
        assert "published by Ada" in headrace(tmp_path, "watch", "article-rivers")


def test_an_example_brings_pages_along(tmp_path: Path) -> None:
    """A folder is started as a file is, and its pages, templates and files are found beside it."""
    command = [*HEADRACE, "up", str(EXAMPLES / "sounds" / "pipeline.py"), "--port", "0", "--json"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        address = json.loads(process.stdout.readline())["address"]
        page = httpx2.get(f"{address}/p/sounds/").text
        style = httpx2.get(address + re.findall(r'href="(/p/sounds/static/[^"]+)"', page)[0])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

    assert "There is no sound yet." in page
    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
