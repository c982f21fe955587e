"""Who may import whom; the contracts stand in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT


@pytest.mark.slow
def test_import_contracts_hold() -> None:
    """Layers are what lets a stranger change one part without reading all."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout
