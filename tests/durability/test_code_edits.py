"""T8: what happens to a waiting run when the code of its flow is edited.

The corpus stands in ``code_edits``: the old code, the new code, and the verdict. ``result`` is what the run returns with the new code,
``before`` what it returns when the old code is brought back after it was blocked, and ``fresh`` what a run returns that begins with the new code.
"""

from __future__ import annotations

import asyncio
import tomllib
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import Headrace, Pipeline
from headrace._authoring.flow import Flow
from headrace._authoring.pipeline import Registry
from headrace._engine.preflight import preflight, replay_of
from headrace._runs.store import run_by_id
from headrace.errors import HeadraceError, RunAlreadyEnded
from headrace.testing import VirtualClock

CORPUS = Path(__file__).parent / "code_edits"
HEAD = """
import asyncio, logging
from datetime import timedelta
from headrace import *

@step
async def a(x: str = "") -> str:
    return f"a{x}"

@step
async def b(x: str = "") -> str:
    return f"b{x}"

@step
async def c(x: str = "") -> str:
    return f"c{x}"
"""
OLD = """
@flow(id="story")
async def story(n: int = 1) -> list[str]:
    found = [await a("1")]
    found.append(await b("2"))
    found.append(await receive("go", str))
    found.append(await c("3"))
    return found
"""


@dataclass(frozen=True, kw_only=True)
class Edit:
    name: str
    verdict: str
    new: str
    old: str = OLD
    says: list[str] = field(default_factory=list)
    result: Any = None
    before: Any = ("a1", "b2", "now", "c3")
    fresh: Any = None
    early: list[str] = field(default_factory=list)
    early_hours: int = 0
    hours: int = 0
    topic: str = "go"


EDITS = [Edit(**item) for path in sorted(CORPUS.glob("*.toml")) for item in tomllib.loads(path.read_text())["edit"]]


def pipeline_of(source: str) -> Pipeline:
    module = types.ModuleType("tales")
    exec(compile(HEAD + source, "tales.py", "exec"), module.__dict__)
    flows = {id(item): item for item in vars(module).values() if isinstance(item, Flow)}
    return Pipeline("tales", flows=list(flows.values()))


@dataclass(frozen=True, kw_only=True)
class Theatre:
    """One store and one clock, on which the same run is played with one code after the other."""

    store: Path
    clock: VirtualClock

    @asynccontextmanager
    async def playing(self, pipeline: Pipeline) -> AsyncIterator[Headrace]:
        app = Headrace([pipeline], store=self.store, durability="fast", preflight="off")
        app._clock = self.clock
        async with app:
            await settle(app)
            yield app

    async def begin(self, app: Headrace, pipeline: Pipeline, edit: Edit) -> None:
        """Run the old code to the point at which it is interrupted."""
        run = await app.start_as(pipeline.flows[-1], "story", "join", 1)
        for topic in edit.early:
            await run.send(topic, "early")
        await settle(app)
        self.clock.advance(timedelta(hours=edit.early_hours))
        await settle(app)
        assert (await run.view()).state == "waiting"

    async def touch(self, app: Headrace, edit: Edit) -> None:
        """Runs that wait are not replayed before something happens to them."""
        await app.send("story", edit.topic, "now")
        await settle(app)

    async def finish(self, app: Headrace, run_id: str, edit: Edit) -> Any:
        for topic in {edit.topic, "go"}:
            for _ in range(3):
                with suppress(RunAlreadyEnded):
                    await app.send(run_id, topic, "now")
        if edit.hours:
            self.clock.advance(timedelta(hours=edit.hours))
        await settle(app)
        record = await app.engine.wait(run_id)
        assert record.state == "completed", (await app.get(run_id)).reason
        return app.registry.flows[record.flow].shape.result.decode(record.result or b"null")


async def settle(app: Headrace) -> None:
    # Twice: the writer thread hands back what it wrote through the loop.
    for _ in range(2):
        await asyncio.sleep(0.001)
        while not app.engine.is_quiet:  # noqa: ASYNC110  the engine has no event for it
            await asyncio.sleep(0.001)


@pytest.fixture
def theatre(tmp_path: Path) -> Theatre:
    return Theatre(store=tmp_path / "tales.db", clock=VirtualClock())


def judged(app: Headrace, new: Pipeline) -> tuple[str, str]:
    """What replays of the machine alone say."""
    registry = Registry.of([new])
    record = app.database.read(lambda reader: run_by_id(reader, "story"))
    assert record is not None
    if record.flow not in registry.flows:
        return "blocked", record.flow
    replay = app.database.read(lambda reader: replay_of(reader, registry, record))
    try:
        replay.run()
        changed = [
            f"{command} at command {command.ordinal}: {recorded!r} {command.arguments!r}"
            for command, recorded in replay.machine.changed_arguments
        ]
        return ("arguments" if changed else "goes on"), " ".join(changed)
    except HeadraceError as error:
        return "blocked", str(error)
    finally:
        replay.machine.close()


def test_the_corpus_has_every_verdict() -> None:
    """An empty corpus would pass every test below."""
    verdicts = [edit.verdict for edit in EDITS]

    assert len(EDITS) >= 40
    assert len({edit.name for edit in EDITS}) == len(EDITS)
    assert min(map(verdicts.count, ("goes on", "blocked", "arguments"))) >= 3
    assert set(verdicts) == {"goes on", "blocked", "arguments"}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
async def test_an_edit_has_its_verdict(edit: Edit, theatre: Theatre) -> None:
    """A deploy must neither corrupt running flows nor stop those it does not concern."""
    old, new = pipeline_of(edit.old), pipeline_of(edit.new)
    async with theatre.playing(old) as app:
        await theatre.begin(app, old, edit)

        verdict, says = judged(app, new)
        problems = app.database.read(lambda reader: preflight(reader, Registry.of([new]))).problems

    assert verdict == edit.verdict, says
    assert [text for text in edit.says if text not in says] == [], says
    assert [problem.run_id for problem in problems] == (["story"] if edit.verdict == "blocked" else [])
    async with theatre.playing(new) as app:
        view = await app.get("story")
        if edit.verdict == "blocked":
            await theatre.touch(app, edit)
            view = await app.get("story")
            assert view.state == "blocked"
            assert [text for text in edit.says if text not in view.reason] == []
        else:
            assert await theatre.finish(app, "story", edit) == edit.result
        if edit.fresh is not None:
            await app.start_as(new.flows[-1], "fresh", "join")
            assert await theatre.finish(app, "fresh", edit) == edit.fresh


@pytest.mark.parametrize("edit", [edit for edit in EDITS if edit.verdict == "blocked"], ids=lambda edit: edit.name)
async def test_a_blocked_run_goes_on_with_the_old_code(edit: Edit, theatre: Theatre) -> None:
    """Rolling back is the first thing that people try; it must bring back the right result, by itself."""
    old, new = pipeline_of(edit.old), pipeline_of(edit.new)
    async with theatre.playing(old) as app:
        await theatre.begin(app, old, edit)
    async with theatre.playing(new) as app:
        await theatre.touch(app, edit)
        assert (await app.get("story")).state == "blocked"

    async with theatre.playing(old) as app:
        result = await theatre.finish(app, "story", edit)

    assert result == list(edit.before)
