"""Small bugs, each of which the tests must notice: what is to be exchanged, what that breaks, and who is to notice it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "bugs"


@dataclass(frozen=True, kw_only=True)
class Bug:
    name: str
    file: str
    old: str
    new: str
    breaks: str
    caught_by: tuple[str, ...]
    """Arguments of pytest: the tests that are run, the quickest first."""

    def plant(self, tree: Path) -> None:
        """Put the bug into a copy of the sources."""
        path = tree / self.file
        path.write_text(path.read_text("utf-8").replace(self.old, self.new), "utf-8")


def planted() -> list[Bug]:
    """All bugs, in the order of their files."""
    return [
        Bug(**{**entry, "caught_by": tuple(entry["caught_by"])})
        for path in sorted(_FOLDER.glob("*.toml"))
        for entry in tomllib.loads(path.read_text("utf-8"))["bug"]
    ]
