"""Would the open runs go on with this code? Replays them without doing anything."""

from __future__ import annotations

import time
from dataclasses import dataclass

from headrace._authoring.pipeline import Registry
from headrace._engine.machine import Replay, machine_of
from headrace._ports.database import Reader
from headrace._runs.model import RunRecord
from headrace._runs.store import counts, journal_of, list_runs, run_by_pk
from headrace.errors import FlowNotFound, HeadraceError

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    run_id: str
    number: int
    flow: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    checked: int
    skipped: int
    rows: int
    problems: tuple[Misfit, ...]


def preflight(reader: Reader, registry: Registry, *, seconds: float | None = None) -> Preflight:
    """Replay all open runs, newest first; after ``seconds`` the rest is only counted."""
    until = None if seconds is None else time.perf_counter() + seconds
    checked = rows = 0
    problems: list[Misfit] = []
    before: int | None = None
    while page := list_runs(reader, only_open=True, before=before, count=_PAGE):
        for record in page:
            if until is not None and time.perf_counter() > until:
                skipped = sum(counts(reader, only_open=True).values()) - checked
                return Preflight(checked=checked, skipped=skipped, rows=rows, problems=tuple(problems))
            checked += 1
            replayed, reason = check_run(reader, registry, record.pk)
            rows += replayed
            if reason is not None:
                problems.append(Misfit(run_id=record.id, number=record.number, flow=record.flow, reason=reason))
        before = page[-1].pk
    return Preflight(checked=checked, skipped=0, rows=rows, problems=tuple(problems))


def check_run(reader: Reader, registry: Registry, pk: int) -> tuple[int, str | None]:
    """How many rows were replayed, and why the code does not fit, if it does not."""
    record = run_by_pk(reader, pk)
    assert record is not None
    if record.flow not in registry.flows:
        return 0, str(FlowNotFound(record.flow, tuple(registry.flows)))
    replay = replay_of(reader, registry, record)
    try:
        replay.run()
    except HeadraceError as error:
        return replay.position, str(error)
    finally:
        replay.machine.close()
    return replay.position, None


def replay_of(reader: Reader, registry: Registry, record: RunRecord, *, strict: bool = False) -> Replay:
    rows = journal_of(reader, record.pk)
    return Replay(machine_of(registry, record, rows, strict=strict), rows)
