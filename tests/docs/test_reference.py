"""The reference says what the code says."""

from __future__ import annotations

import subprocess
import sys

from tests.tree import ROOT


def test_reference_is_up_to_date() -> None:
    """Every error, setting, command and log event is documented, in the words of the code."""
    command = [sys.executable, "scripts/reference.py", "--check"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr
