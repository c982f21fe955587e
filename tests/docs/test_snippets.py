"""What the documents show is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT, files

PAGES = [
    path for path in files() if path.suffix == ".md" and (path.parent == ROOT or path.is_relative_to(ROOT / "docs"))
]
# Every python fence runs as a script of its own, unless it says so: ```python no-run
FENCE = re.compile(r"^```python(?P<flag>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets() -> list[tuple[str, str]]:
    found = []
    for path in PAGES:
        text = path.read_text("utf-8")
        for match in FENCE.finditer(text):
            if match["flag"].strip() != "no-run":
                line = text[: match.start()].count("\n") + 1
                found.append((f"{path.relative_to(ROOT)}:{line}", match["code"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("where,code", [pytest.param(*one, id=one[0]) for one in snippets()])
def test_snippet_runs(where: str, code: str, tmp_path: Path) -> None:
    """The first thing that a newcomer copies must work."""
    (tmp_path / "snippet.py").write_text(code)
    command = [sys.executable, "-W", "error", "snippet.py"]
    environment = {**os.environ, "PYTHONPATH": ""}

    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, f"{where}\n{ran.stdout}{ran.stderr}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_fences_are_of_a_known_kind(path: Path) -> None:
    """A misspelt flag would turn a snippet off without anybody noticing."""
    kinds = {
        line.removeprefix("```").strip() for line in path.read_text("utf-8").splitlines() if re.match(r"```\S", line)
    }

    assert kinds <= {"python", "python no-run", "bash", "console", "text", "sql", "json", "toml", "mermaid"}
