"""What users install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.tree import ROOT, SOURCE, files


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_source(tmp_path: Path) -> None:
    """An editable install hides a forgotten .sql file or a missing py.typed; a wheel does not."""
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists():
        pytest.skip("scripts/setup could not get uv on this machine")
    command = [str(uv), "build", "-q", "--wheel", "--out-dir", str(tmp_path), str(ROOT)]

    subprocess.run(command, check=True, capture_output=True)

    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == {path.relative_to(SOURCE).as_posix() for path in files() if path.is_relative_to(SOURCE)}
