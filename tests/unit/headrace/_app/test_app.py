"""``Headrace``, where neither the engine's suite nor the server's looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Headrace, Pipeline, flow, step
from headrace._ports.database import Reader
from headrace._runs.store import counts
from headrace.errors import ConfigurationError


@step
async def one() -> int:
    return 1


@flow(id="once")
async def once() -> int:
    return await one()


PIPELINE = Pipeline("app", flows=[once])


async def test_what_is_required_is_looked_at_before_anything_begins(tmp_path: Path) -> None:
    """A server that must not start must not have run steps either; the store is free for the next try."""

    def refuse(_: Reader) -> None:
        raise ConfigurationError("not like this")

    app = Headrace([PIPELINE], store=tmp_path / "a.db")
    app.require(refuse)
    with pytest.raises(ConfigurationError, match="not like this"):
        await app.__aenter__()

    async with Headrace([PIPELINE], store=tmp_path / "a.db") as again:
        again.require(refuse)  # too late to matter
        assert again.database.read(counts) == {}


async def test_commits_and_sizes_are_those_of_the_store(tmp_path: Path) -> None:
    """Whoever looks after a machine wants to see what is written."""
    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app:
        before = app.commits()
        await app.run(once)
        after = app.commits()
        sizes = app.sizes()

    assert after.operations > before.operations
    assert sizes["log"] > 0
    assert app.sizes() == {"file": (tmp_path / "a.db").stat().st_size, "log": 0}
