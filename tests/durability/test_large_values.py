"""Values of every size and kind: kept, put aside or refused, and what was put aside comes back as itself."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace import Statement, continue_as_new, flow, receive, send, start, step, use
from headrace.errors import EngineUnavailable, RunFailed, ValueRefused
from headrace.testing import Harness

ASIDE = 200_000


@step
async def copy(text: str) -> str:
    use(Counter)[text[-1:]] += 1
    return text


@flow(id="alike")
async def alike() -> list[str]:
    """Values that differ at their very end only."""
    texts = ["x" * ASIDE + end for end in "abc"]
    found = [await copy(text) for text in texts]
    assert found == texts, "one was taken for another"
    return [text[-1] for text in found]


@pytest.fixture
def ran() -> Counter[str]:
    return Counter()


@pytest.mark.parametrize("commit", [None, 2, 3, 4])
async def test_large_values_with_the_same_beginning_stay_apart(commit: int | None, ran: Counter[str]) -> None:
    """Arguments and results alike, live and read back after a death."""
    async with Harness(alike, ports=ran, replay_prefixes=True) as harness:
        if commit is not None:
            harness.crash_once(at_commit=commit)

        assert await harness.run(alike) == ["a", "b", "c"]


@flow(id="large-{size}")
async def large(size: int) -> int:
    text = await copy("x" * size)
    reader = await start(reads_large, size)
    await send(reader, "text", text)
    return len(await reads_large(size))


@flow(id="reads-large-{size}")
async def reads_large(size: int, rounds: int = 1, text: str = "") -> str:
    if rounds:
        continue_as_new(size, rounds - 1, await receive("text", str))
    return text


@pytest.mark.parametrize("size", [0, 65_536, 131_070, 131_072, 5_000_000])
async def test_values_of_every_size_pass_through_everything(size: int, ran: Counter[str]) -> None:
    """Arguments, results, messages, inputs of children and of runs that start afresh; around the size at which they are put aside, too."""
    async with Harness(large, reads_large, ports=ran) as harness:
        harness.crash_once(at="message.after")

        assert await harness.run(large, size) == size


async def test_a_value_beyond_the_limit_is_refused_and_harms_nothing(ran: Counter[str]) -> None:
    """Two hundred megabytes belong in a blob store; the message says so, and the run can be looked at."""
    async with Harness(large, reads_large, ports=ran) as harness:
        with pytest.raises(RunFailed, match="store the bytes elsewhere"):
            await harness.run(large, 20 * 2**20)

        assert ran == {}


@dataclass
class Film:
    title: str
    minutes: float


@dataclass
class Poster:
    film: Film


@step
async def pass_on(value: Any) -> Any:
    return value


@step
async def pass_poster(value: Poster) -> Poster:
    return value


@step
async def pass_number(value: float) -> float:
    return value


@step
async def pass_bytes(value: bytes) -> bytes:
    return value


class Circle:
    def __init__(self) -> None:
        self.self = self


@flow(id="kinds")
async def kinds() -> list[str]:
    film = Film("Metropolis", math.inf)
    assert await pass_poster(Poster(film)) == Poster(film)
    assert math.isnan(await pass_number(math.nan))
    assert await pass_bytes(bytes(range(256))) == bytes(range(256))
    endless: list[Any] = []
    endless.append(endless)
    refused = []
    for value in (endless, Circle(), lambda: None):
        try:
            await pass_on(value)
        except ValueRefused as error:
            refused.append(str(error))
    return refused


async def test_values_of_every_kind_come_back_or_are_refused_with_the_reason() -> None:
    """Something that would come back as something else must not be stored, and no refusal may harm the run."""
    async with Harness(kinds) as harness:
        refused = await harness.run(kinds)

    assert len(refused) == 3
    assert all("pass_on" in text for text in refused)


OLD_FILM = Statement("old", "UPDATE journal SET value = :value WHERE kind = 'step'")


@flow(id="film")
async def film() -> str:
    found = await pass_poster(Poster(Film("Metropolis", 153)))
    await receive("go", str)
    return found.film.title


async def test_a_recorded_value_without_a_field_that_is_new_blocks_its_run(tmp_path: Path) -> None:
    """It was written by older code; guessing a value for the field would be worse than waiting for a default."""
    async with Harness(film, store=tmp_path / "kept.db") as harness:
        run = await harness.start(film)
        await harness.settle()
        old, new = b'{"film":{"title":"Metropolis"}}', b'{"film":{"title":"Metropolis","minutes":153.0}}'
        await harness.app.database.write(lambda tx: tx.run(OLD_FILM, {"value": old}))
        await harness.crash()
        await harness.send(run, "go", "on")
        await harness.settle()
        view = await run.view()
        assert view.state == "blocked"
        assert "film.minutes" in view.reason

        await harness.app.database.write(lambda tx: tx.run(OLD_FILM, {"value": new}))
        await harness.app.retry(run)
        assert await run.result() == "Metropolis"


GONE = Statement("gone", "DELETE FROM payloads")


@flow(id="remembers")
async def remembers() -> int:
    text = await copy("x" * ASIDE)
    await receive("go", str)
    return len(text)


async def test_a_value_that_is_gone_stops_everything_instead_of_being_nothing(ran: Counter[str]) -> None:
    """A damaged file must be noticed; a flow that went on with None would act on it."""
    with pytest.raises(EngineUnavailable, match="is gone"):
        async with Harness(remembers, ports=ran, replay_check=False) as harness:
            run = await harness.start(remembers)
            await harness.settle()
            await harness.app.database.write(lambda tx: tx.run(GONE))
            await harness.crash()
            await harness.send(run, "go", "on")
            await run.result()
