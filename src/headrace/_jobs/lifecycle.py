"""Lifecycles: from which states each event leads to which. All decisions are pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from headrace._base.codec import Shape
from headrace._events.model import Event, Subject
from headrace._events.topic import check_topic
from headrace._jobs.model import JobRecord, RunOutcome
from headrace.errors import DefinitionError, ValueRefused

D = TypeVar("D")

ANY: Final = "*"
"""In a move: from every state that is not terminal."""

From = str | tuple[str, ...] | None
EndData = Callable[[RunOutcome], Any]
_ENDS: Final = ("completed", "failed", "timed_out", "cancelled")
_WORD: Final = re.compile(r"[a-z][a-z0-9_]*")


class Move(NamedTuple):
    topic: str
    sources: tuple[str, ...]
    target: str
    opens: bool
    reopens: bool


class Decision(NamedTuple):
    """What an event does to its job. ``state`` None: nothing."""

    applied: bool
    reason: str
    generation: int
    state: str | None
    opens: bool = False


@dataclass(frozen=True)
class JobRef:
    """Names a job, as the subject of an event."""

    lifecycle: Lifecycle[Any]
    id: str

    @property
    def subject(self) -> Subject:
        return Subject(self.lifecycle.name, self.id)


class Lifecycle(Generic[D]):
    """Declares how jobs of one kind live.

    ``moves`` are triples (topic, from, to): an event of that topic moves a job from any of those states to that one. ``None`` as from
    opens a job, ``"*"`` stands for every state that is not terminal. Events of the topics in ``notes`` belong to the job's history and
    move nothing. ``retry`` is (topic, state): the event that opens a new generation of a job in a terminal state.

    ``fold(data, event)`` gives the job's new data for each applied event; data is None before the first. It must be pure.

    ``ends`` says for a run that works for a job which event its end is: keys ``completed``, ``failed``, ``timed_out``, ``cancelled``;
    values a topic, or (topic, function of a ``RunOutcome`` that gives the event's data). What is not given falls back to ``failed``.
    A run that completes and leaves the job half way tells ``failed``, but not in one of the ``handovers``: states in which the job waits
    for the next run.
    """

    def __init__(
        self,
        name: str,
        *,
        moves: Sequence[tuple[str, From, str]],
        terminal: Sequence[str],
        data: type[D] | None = None,
        fold: Callable[[Any, Event[Any]], D] | None = None,
        notes: Sequence[str] = (),
        retry: tuple[str, str] | None = None,
        ends: Mapping[str, str | tuple[str, EndData]] | None = None,
        handovers: Sequence[str] = (),
    ) -> None:
        if not _WORD.fullmatch(name):
            raise DefinitionError(
                f"Lifecycle({name!r}): a name is lower-case letters, digits and underscores, for example 'subtitle'"
            )
        moves = [(topic, _plain_from(source), _plain(target)) for topic, source, target in moves]
        terminal = [_plain(state) for state in terminal]
        self.name = name
        self.terminal = frozenset(terminal)
        self.notes = frozenset(self._topic(topic) for topic in notes)
        self.retry_topic = None if retry is None else self._topic(retry[0])
        self.fold = fold
        self.shape = Shape(Any if data is None else data, where=f"data of job {name!r}")
        plain = self._expand(moves)
        self.states = _in_order(plain, terminal)
        if retry is not None:
            plain.append(Move(retry[0], tuple(terminal), _plain(retry[1]), opens=False, reopens=True))
        self.moves = tuple(plain)
        self._by_topic: dict[str, list[Move]] = {}
        for move in self.moves:
            self._by_topic.setdefault(move.topic, []).append(move)
        self.ends: Mapping[str, tuple[str, EndData | None]] = MappingProxyType(self._ends(ends or {}))
        self.handovers = frozenset(_plain(state) for state in handovers)
        self._check()

    @property
    def topics(self) -> frozenset[str]:
        """The topics whose events belong to jobs of this kind."""
        return frozenset(self._by_topic) | self.notes

    @property
    def opening_topics(self) -> frozenset[str]:
        return frozenset(move.topic for move in self.moves if move.opens)

    def job(self, id: str) -> JobRef:
        """The job of that id, as a subject for events whose topic does not say to which lifecycle it belongs."""
        return JobRef(self, id)

    def subject(self, id: str) -> Subject:
        return Subject(self.name, id)

    def decide(self, job: JobRecord | None, topic: str, generation: int | None) -> Decision:
        """What an event of this topic does to the job as it is now."""
        moves = self._by_topic.get(topic, [])
        if job is None:
            opening = next((move for move in moves if move.opens), None)
            if opening is None:
                return Decision(False, "there is no such job yet", generation or 1, None)
            return Decision(True, "", 1, opening.target, opens=True)
        if generation is not None and generation != job.generation:
            reason = f"it belongs to generation {generation} of the job, which is in generation {job.generation}"
            return Decision(False, reason, generation, None)
        current = job.generation
        move = next((move for move in moves if job.state in move.sources), None)
        if move is not None:
            return Decision(True, "", current + 1 if move.reopens else current, move.target)
        if topic in self.notes or not moves:
            return Decision(True, "", current, job.state)
        return Decision(False, self._why_not(job, moves), current, None)

    def _why_not(self, job: JobRecord, moves: list[Move]) -> str:
        if any(move.target == job.state for move in moves):
            return f"the job is {job.state!r} already"
        if job.terminal:
            return f"it came too late: the job has ended as {job.state!r}"
        if all(move.reopens for move in moves):
            return f"the job is {job.state!r}; only one that has ended can be begun again"
        if all(move.opens for move in moves):
            return f"the job exists already and is {job.state!r}"
        sources = ", ".join(repr(state) for move in moves for state in move.sources)
        return f"the job is {job.state!r}, and this event is for {sources}"

    def folded(self, stored: bytes | None, event: Event[Any]) -> bytes:
        """The job's data after an event; raises what the fold raises."""
        assert self.fold is not None
        before = None if stored is None else self.shape.decode(stored)
        return self.shape.encode(self.fold(before, event))

    def is_cancelled_by(self, topic: str) -> bool:
        """Whether the event of this topic says that the job was cancelled, and nothing else."""
        ends = self.ends
        return bool(ends) and ends["cancelled"][0] == topic and ends["failed"][0] != topic

    def end_of(self, outcome: RunOutcome, state: str, *, others: bool = False) -> tuple[str, Any] | None:
        """The event that tells the end of a run to its job in this state: topic and data; None when the job needs no word of it.

        ``others``: further runs work for the job.
        """
        if state in self.terminal or not self.ends:
            return None
        if outcome.state == "completed" and state in self.handovers:
            return None
        topic, data = self._end_event(outcome.state, state)
        if outcome.state == "completed" and others and topic == self.ends["failed"][0]:
            return None
        if data is not None:
            return topic, data(outcome)
        if outcome.state == "completed" and topic == self.ends["completed"][0]:
            return topic, outcome.result
        message = outcome.error_message or _left_behind(outcome, state)
        return topic, {"error_type": outcome.error_type or outcome.state, "error_message": message}

    def _end_event(self, ended: str, state: str) -> tuple[str, EndData | None]:
        declared = self.ends[ended]
        if any(state in move.sources for move in self._by_topic[declared[0]]):
            return declared
        # A run that completed though its job is not as far: the job must not wait for ever for what nobody does any more.
        return self.ends["failed"]

    # Checks

    def _topic(self, topic: str) -> str:
        try:
            return check_topic(topic)
        except ValueRefused as error:
            raise DefinitionError(f"Lifecycle({self.name!r}): {error}") from None

    def _expand(self, moves: Sequence[tuple[str, From, str]]) -> list[Move]:
        named = {state for _, source, target in moves for state in (*_as_tuple(source), target)} - {ANY}
        going_on = tuple(sorted(named - self.terminal))
        found = []
        for topic, source, target in moves:
            sources = going_on if source == ANY else _as_tuple(source)
            found.append(Move(self._topic(topic), tuple(sources), target, opens=source is None, reopens=False))
        return found

    def _ends(self, given: Mapping[str, str | tuple[str, EndData]]) -> dict[str, tuple[str, EndData | None]]:
        for key in given:
            if key not in _ENDS:
                raise self._wrong(f"ends={{{key!r}: ...}}: a run ends as {', '.join(_ENDS)}")
        if given and "failed" not in given:
            raise self._wrong("ends= needs the event for 'failed', so that no job waits for a run that is over")
        pairs = {key: (value, None) if isinstance(value, str) else value for key, value in given.items()}
        for key, (topic, _) in pairs.items():
            if topic not in self._by_topic:
                raise self._wrong(f"ends={{{key!r}: {topic!r}}}: no move has this topic")
        return {key: pairs.get(key, pairs["failed"]) for key in _ENDS} if pairs else {}

    def _check(self) -> None:
        if not any(move.opens for move in self.moves):
            raise self._wrong("no move opens a job; give one with None as its from")
        if not self.terminal:
            raise self._wrong("terminal= is empty; name the states in which a job has ended")
        for move in self.moves:
            if move.target in self.terminal and move.reopens:
                raise self._wrong(f"retry={(move.topic, move.target)!r} leads to a terminal state")
            if not move.reopens and (late := self.terminal.intersection(move.sources)):
                raise self._wrong(
                    f"the move ({move.topic!r}, {min(late)!r}, {move.target!r}) leaves a terminal state; only retry= may"
                )
        self._check_reach()
        if odd := self.handovers - (set(self.states) - self.terminal):
            raise self._wrong(f"handovers= names {min(odd)!r}, which is no state in which a job goes on")
        if twice := self._ambiguous():
            raise self._wrong(f"two moves of {twice[0]!r} leave {twice[1]!r}; keep one")
        if both := self.notes & self._by_topic.keys():
            raise self._wrong(f"{min(both)!r} is in moves and in notes; keep one")
        going_on = set(self.states) - self.terminal
        if self.ends and (unheard := going_on - {s for m in self._by_topic[self.ends["failed"][0]] for s in m.sources}):
            raise self._wrong(
                f"the event {self.ends['failed'][0]!r} that tells a failed run does not leave {min(unheard)!r}; use '*' as its from"
            )

    def _check_reach(self) -> None:
        reached = {move.target for move in self.moves if move.opens or move.reopens}
        while more := {m.target for m in self.moves if reached.intersection(m.sources)} - reached:
            reached |= more
        for state in self.states:
            if state not in reached:
                raise self._wrong(f"no move leads to state {state!r}")
            if state not in self.terminal and not any(state in move.sources for move in self.moves):
                raise self._wrong(f"no move leaves state {state!r}; add one, or name it in terminal=")

    def _ambiguous(self) -> tuple[str, str] | None:
        seen: set[tuple[str, str]] = set()
        for move in self.moves:
            for source in (None,) if move.opens else move.sources:
                key = (move.topic, source or "(nothing)")
                if key in seen:
                    return key
                seen.add(key)
        return None

    def _wrong(self, what: str) -> DefinitionError:
        return DefinitionError(f"Lifecycle({self.name!r}): {what}")

    def __repr__(self) -> str:
        return f"<lifecycle {self.name}: {', '.join(self.states)}>"


def _plain(state: str) -> str:
    """A member of an enumeration as the word that it stands for; databases know no enumerations."""
    return str(state.value) if isinstance(state, Enum) else state


def _plain_from(source: From) -> From:
    return tuple(_plain(state) for state in source) if isinstance(source, tuple) else source and _plain(source)


def _as_tuple(source: From) -> tuple[str, ...]:
    return () if source is None else (source,) if isinstance(source, str) else tuple(source)


def _in_order(moves: Sequence[Move], terminal: Sequence[str]) -> tuple[str, ...]:
    """States in the order in which the moves speak of them, terminal ones last."""
    named = dict.fromkeys(state for move in moves for state in (*move.sources, move.target))
    ends = dict.fromkeys(terminal)
    return (*(state for state in named if state not in ends), *ends)


def _left_behind(outcome: RunOutcome, state: str) -> str:
    if outcome.state == "cancelled":
        return f"run {outcome.run_id!r} was cancelled"
    if outcome.state == "timed_out":
        return f"run {outcome.run_id!r} did not end before its deadline"
    return f"run {outcome.run_id!r} is over and left the job {state!r}"


class Lifecycles:
    """All declared lifecycles, and which one an event belongs to."""

    def __init__(self, lifecycles: Sequence[Lifecycle[Any]] = ()) -> None:
        by_name: dict[str, Lifecycle[Any]] = {}
        by_topic: dict[str, Lifecycle[Any]] = {}
        for item in lifecycles:
            if by_name.setdefault(item.name, item) is not item:
                raise DefinitionError(f"two lifecycles are called {item.name!r}")
            for topic in item.topics:
                other = by_topic.setdefault(topic, item)
                if other is not item:
                    raise DefinitionError(
                        f"topic {topic!r} is declared by two lifecycles, {other.name!r} and {item.name!r}; an event moves one job"
                    )
        self.by_name: Mapping[str, Lifecycle[Any]] = MappingProxyType(by_name)
        self.by_topic: Mapping[str, Lifecycle[Any]] = MappingProxyType(by_topic)

    def subject_of(self, topic: str, subject: str | JobRef) -> Subject:
        """What an event of this topic is about; the lifecycle that declares the topic makes its subject a job."""
        if isinstance(subject, JobRef):
            return subject.subject
        lifecycle = self.by_topic.get(topic)
        return Subject("" if lifecycle is None else lifecycle.name, subject)
