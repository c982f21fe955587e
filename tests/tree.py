"""The repository as the tests see it: what git tracks, or would."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"


@cache
def files() -> tuple[Path, ...]:
    """Every tracked or new file that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return tuple(ROOT / name for name in sorted(listed.stdout.split("\0")) if name and (ROOT / name).is_file())


@cache
def texts() -> dict[str, str]:
    """Path from the root -> content, of all files that are text."""
    found = {}
    for path in files():
        try:
            found[path.relative_to(ROOT).as_posix()] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return found
