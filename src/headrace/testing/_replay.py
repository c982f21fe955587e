"""Replays runs from their journals, ended ones too, and compares what they come to with what is recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from headrace._authoring import guard
from headrace._authoring.pipeline import Registry
from headrace._base.recorded_error import describe
from headrace._engine.machine import Ended, Replay, RunMachine, machine_of
from headrace._ports.database import Reader
from headrace._runs.model import OUTSIDE, SET_ASIDE, JournalRow, RunRecord, RunState
from headrace._runs.store import journal_of, run_by_id, run_by_pk
from headrace._store.statements import load
from headrace.errors import HeadraceError, ReplayDiverged

QUERIES = load("headrace.testing")
_BY_THE_FLOW = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Where a replay went another way than the run had gone."""

    run_id: str
    number: int
    flow: str
    command: int
    recorded: str
    found: str

    def as_error(self) -> ReplayDiverged:
        return ReplayDiverged(self.run_id, self.command, self.recorded, self.found)


def flows_in(reader: Reader) -> set[str]:
    return {record.flow for record in _records(reader)}


def differences(
    reader: Reader, registry: Registry, *, strict: bool, every: int | None, only: frozenset[str] | None = None
) -> Iterator[Difference]:
    """Replay all runs of the flows in the registry; with ``every`` also from each such prefix of a journal."""
    guard.install()
    for record in _records(reader):
        if (
            record.flow not in registry.flows
            or record.state in SET_ASIDE
            or (only is not None and record.flow not in only)
        ):
            continue
        try:
            _check(reader, registry, record, strict=strict, every=every)
        except ReplayDiverged as diverged:
            yield _difference(record, diverged.position, diverged.recorded, diverged.found)
        except HeadraceError as error:
            yield _difference(record, -1, "a run without this error", f"{type(error).__name__}: {error}")


def _records(reader: Reader) -> Iterator[RunRecord]:
    for (pk,) in reader.all(QUERIES.all_runs):
        record = run_by_pk(reader, pk)
        assert record is not None
        yield record


def _difference(record: RunRecord, command: int, recorded: str, found: str) -> Difference:
    return Difference(
        run_id=record.id, number=record.number, flow=record.flow, command=command, recorded=recorded, found=found
    )


def _check(reader: Reader, registry: Registry, record: RunRecord, *, strict: bool, every: int | None) -> None:
    rows = journal_of(reader, record.pk)
    prefixes = [] if every is None else range(0, len(rows), every)
    for length in [len(rows), *prefixes]:
        machine = machine_of(registry, record, rows[:length], strict=strict)
        try:
            _drive(machine, rows, length)
            _compare(reader, record, machine)
        finally:
            machine.close()


def _drive(machine: RunMachine, rows: list[JournalRow], length: int) -> None:
    """The first ``length`` rows as a restart would replay them, the others as they come in while the run is live."""
    replay = Replay(machine, rows[:length])
    while not replay.run():
        pass
    machine.answered_ahead = OUTSIDE
    following = iter(rows[length:])
    while machine.ended is None:
        row = next(following, None)
        if row is None:
            break
        machine.deliver(row)
        while not machine.advance():
            pass
        if machine.violation is not None:
            raise machine.violation
    machine.check_left(following)


def _compare(reader: Reader, record: RunRecord, machine: RunMachine) -> None:
    for command, recorded in machine.changed_arguments:
        was, now = _text(recorded), _text(command.arguments)
        raise ReplayDiverged(record.id, command.ordinal, f"{command} with {was}", f"{command} with {now}")
    position = machine._next
    if record.state is RunState.REPLACED and record.continued_as is not None:
        following = run_by_id(reader, record.id, record.continued_as)
        expected = Ended(state=RunState.REPLACED, arguments=None if following is None else following.input)
    elif record.state in _BY_THE_FLOW and not record.reason.endswith("without clean-up"):
        expected = Ended(state=record.state, result=record.result, error=record.error)
    else:
        return
    was, now = _outcome(expected), "no end" if machine.ended is None else _outcome(machine.ended)
    if was != now:
        raise ReplayDiverged(record.id, position, was, now)


def _outcome(ended: Ended) -> str:
    if ended.state is RunState.COMPLETED:
        return f"the result {_text(ended.result, limit=None)}"
    if ended.state is RunState.FAILED:
        return f"the error {describe(ended.error or b'{}').type_name}"
    if ended.state is RunState.REPLACED:
        return f"its continuation with {_text(ended.arguments, limit=None)}"
    return f"the end {ended.state.value!r}"


def _text(value: bytes | None, limit: int | None = 300) -> str:
    return (value or b"nothing").decode(errors="replace")[:limit]


def outcome_lines(found: list[Difference]) -> str:
    return "\n".join(
        f"  run {item.run_id!r} #{item.number} of {item.flow}, command {item.command}: recorded {item.recorded}, replayed {item.found}"
        for item in itertools.islice(found, 20)
    )
