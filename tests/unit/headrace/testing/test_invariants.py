from __future__ import annotations

from pathlib import Path

import pytest

from headrace import flow
from headrace._ports.database import Statement
from headrace.testing import Harness, InvariantBroken, check_invariants


@flow(id="wordy")
async def wordy() -> str:
    return "word " * 50_000


async def test_a_large_value_that_was_damaged_is_found(tmp_path: Path) -> None:
    """It has the length and the place that it should have; only its digest can tell."""
    other = Statement("other", "UPDATE payloads SET value = x'01deadbeef'")
    with pytest.raises(InvariantBroken, match="value_is_whole"):
        async with Harness(wordy, store=tmp_path / "kept.db", replay_check=False) as harness:
            await harness.run(wordy)
            await harness.app.database.write(lambda tx: tx.run(other))


async def test_a_large_value_that_is_gone_is_found(tmp_path: Path) -> None:
    """Its reference alone says nothing."""
    gone = Statement("gone", "DELETE FROM payloads")
    async with Harness(wordy, store=tmp_path / "kept.db", replay_check=False) as harness:
        await harness.run(wordy)
        assert check_invariants(tmp_path / "kept.db") == []
        kept = Statement("kept", "CREATE TABLE kept AS SELECT * FROM payloads")
        back = Statement("back", "INSERT INTO payloads SELECT * FROM kept")
        await harness.app.database.write(lambda tx: (tx.run(kept), tx.run(gone)))

        assert any("value_gone" in problem for problem in check_invariants(tmp_path / "kept.db"))
        await harness.app.database.write(lambda tx: tx.run(back))
