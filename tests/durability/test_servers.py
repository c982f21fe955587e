"""The servers of tests: whoever comes later finds the one that is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import servers

SECOND = """
import sys
from pathlib import Path

from tests.servers import shared_postgres

with shared_postgres(Path(sys.argv[1])) as server:
    print(server.port)
"""


@pytest.mark.slow
def test_a_process_that_comes_later_shares_the_server(tmp_path: Path) -> None:
    """It would wait for the end of the first one, which waits for nothing: the whole run would stand still."""
    servers.postgres_or_skip()
    with servers.shared_postgres(tmp_path) as first:
        second = subprocess.run(
            [sys.executable, "-c", SECOND, str(tmp_path)], capture_output=True, text=True, timeout=20, check=True
        )

    assert second.stdout == f"{first.port}\n"
