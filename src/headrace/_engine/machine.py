"""One run of a flow as a pure machine: completions go in, commands come out.

It knows no storage, no clock and no engine. Fed with the same completions in the same order it issues the same commands and ends with the
same outcome; live running, replay after a crash, pre-flight and the replay checks of the tests are all this class with different drivers.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextvars import Context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from headrace._authoring import guard
from headrace._authoring.context import Policy, RunRef, current_flow, current_step
from headrace._authoring.flow import Flow
from headrace._authoring.loop import FlowEvicted, FlowFuture, FlowLoop
from headrace._authoring.pipeline import Registry
from headrace._authoring.step import Step
from headrace._base.clock import Instant, from_datetime, to_datetime, to_micros
from headrace._base.codec import Shape
from headrace._base.recorded_error import decode_error, describe, encode_error
from headrace._events.model import Published, Subject, check_name
from headrace._events.schema import EventShape
from headrace._events.topic import check_pattern, check_topic
from headrace._jobs.catalogue import Catalogue
from headrace._jobs.lifecycle import JobRef
from headrace._runs.model import OUTSIDE, JobOfRun, JournalRow, Kind, Message, Outcome, RunRecord, RunState, Seen
from headrace.errors import DefinitionError, NotDeterministic, RemoteError, ReplayDiverged, ValueRefused

if TYPE_CHECKING:
    from types import FrameType

_ANY = Shape(Any, where="a value")
_REF = Shape(RunRef, where="a reference to a run")
PUBLISHED = Shape(Published, where="the answer to a publish")
_NOTHING_DECLARED = Catalogue()
NULL = b"null"
_LAST = from_datetime(datetime.max.replace(tzinfo=UTC))  # "for ever" has to fit in the file


class Decoder(Protocol):
    """Makes a value of what stands in a row."""

    def decode(self, stored: bytes) -> Any: ...


class ContinueAsNew(BaseException):
    """Leaves the flow; nothing in it should catch this."""

    def __init__(self, arguments: bytes) -> None:
        super().__init__()
        self.arguments = arguments


class Command:
    """One thing that a flow asked for and that has not been answered."""

    __slots__ = (
        "arguments",
        "cancelling",
        "due",
        "flow",
        "future",
        "handle",
        "issued_at",
        "kind",
        "mark",
        "name",
        "ordinal",
        "policy",
        "shape",
        "step",
        "target",
    )

    def __init__(self, ordinal: int, kind: Kind, name: str, arguments: bytes | None, issued_at: Instant) -> None:
        self.ordinal = ordinal
        self.issued_at = issued_at
        self.kind = kind
        self.name = name
        self.arguments = arguments
        self.future: CommandFuture | None = None
        self.cancelling = False
        self.mark: bytes | None = None
        self.shape: Decoder = _ANY
        self.step: Step[Any, Any] | None = None
        self.flow: Flow[Any, Any] | None = None
        self.target: str | None = None
        self.policy: Policy = "join"
        self.due: Instant = 0
        self.handle: asyncio.TimerHandle | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}" if self.name else str(self.kind)


class CommandFuture(FlowFuture):
    """What the flow awaits. Cancelling it asks the engine to stop the work; it is over when the engine says so, as with an asyncio task."""

    __slots__ = ("_command", "_machine", "_message")

    def __init__(self, machine: RunMachine, command: Command) -> None:
        loop = machine.loop
        loop._order = self._order = loop._order + 1  # what FlowFuture does, without two calls on the hottest path
        asyncio.Future.__init__(self, loop=loop)
        self._machine = machine
        self._command = command
        self._message: Any = None

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        if not self._command.cancelling:
            self._message = msg
        if self._machine.request_cancel(self._command):
            return True
        return super().cancel(msg)

    def settle_cancelled(self) -> None:
        super().cancel(self._message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a flow ended. ``state`` REPLACED: it goes on as a new run with ``arguments``."""

    state: RunState
    result: bytes | None = None
    error: bytes | None = None
    reason: str = ""
    arguments: bytes | None = None


class RunMachine:
    def __init__(
        self,
        *,
        flow: Flow[Any, Any],
        run_id: str,
        number: int,
        seed: int,
        started_at: Instant,
        arguments: bytes,
        patches: frozenset[str] = frozenset(),
        strict: bool = False,
        catalogue: Catalogue | None = None,
        begun_at_pos: int = 0,
        job: JobOfRun | None = None,
    ) -> None:
        self.flow = flow
        self.run_id = run_id
        self.number = number
        self.loop = FlowLoop(run_id, self)  # type: ignore[abstract]  # what it lacks is filled in below its class
        self.answered_ahead = OUTSIDE
        """The highest command that the rest of the journal speaks of, while it is replayed."""
        self.violation: NotDeterministic | None = None
        self.ended: Ended | None = None
        self.issued: list[Command] = []
        self.withdrawn: list[Command] = []
        self.new_patches: list[str] = []
        self.changed_arguments: list[tuple[Command, bytes | None]] = []
        self.returned: defaultdict[str, deque[bytes]] = defaultdict(deque)
        self.log_position = begun_at_pos
        """Where the next wait for an event begins: where the run began, or behind the last event that it took."""
        self._catalogue = catalogue or _NOTHING_DECLARED
        self._job = job
        self.delivered = 0
        self._open: dict[int, Command] = {}
        self._timers: dict[int, Command] = {}
        self._given_up: dict[int, Command] = {}
        self._next = 0
        self._seed = seed
        self._random: random.Random | None = None
        self._started_at = started_at
        self._now = started_at
        self._arguments = arguments
        self._patches = dict.fromkeys(patches, True)
        self._strict = strict
        self._main: asyncio.Task[Any] | None = None
        self._outcome: Ended | None = None
        self._stopping: RunState | None = None

    # Driving

    def begin(self) -> None:
        """Call the flow function; raises ValueRefused when the recorded input does not fit it any more."""
        args, kwargs = self.flow.shape.decode(self._arguments)
        context = Context()
        context.run(current_flow.set, self)
        context.run(current_step.set, None)
        self._main = self.loop._task(self.flow.fn(*args, **kwargs), "main", context)

    def advance(self, budget: float | None = None) -> bool:
        """Run until the flow waits or has ended (True), or until the budget of seconds is used up (False)."""
        guard.enter(self)
        try:
            if self._strict:
                with guard.profiled(self):
                    quiet = self.loop.run_ready(budget)
            else:
                quiet = self.loop.run_ready(budget)
        finally:
            guard.leave()
        main = self._main
        if quiet and main is not None and main.done() and self.ended is None:
            return self._wind_down(main, budget)
        return quiet

    def _wind_down(self, main: asyncio.Task[Any], budget: float | None) -> bool:
        # As asyncio.run does: what the flow left running is cancelled and waited for.
        if self._outcome is None:
            self._outcome = self._outcome_of(main)
            left = list(self.loop.tasks.values())
            for task in left:
                task.cancel()
            if left:
                return self.advance(budget)
        if not self.loop.tasks:
            self.ended = self._outcome
        return True

    def _outcome_of(self, main: asyncio.Task[Any]) -> Ended:
        if main.cancelled():
            return Ended(state=self._stopping or RunState.CANCELLED)
        error = main.exception()
        if error is None:
            try:
                return Ended(state=RunState.COMPLETED, result=self.flow.shape.result.encode(main.result()))
            except ValueRefused as refused:
                error = refused
        if (arguments := _continued(error)) is not None:
            return Ended(state=RunState.REPLACED, arguments=arguments)
        stored = encode_error(error)
        return Ended(
            state=RunState.FAILED, error=stored, reason=f"{type(error).__name__}: {describe(stored).message}"[:500]
        )

    def deliver(self, row: JournalRow, *ready: Any) -> None:
        """Let one completion in; only when the flow is quiescent. ``ready`` is its value if it was decoded already."""
        self.delivered = row.seq
        self.loop.news()
        if row.command == OUTSIDE:
            self._from_outside(row)
            return
        if row.command >= self._next:
            self._diverged(row, "nothing at this point")
        command = self._open.get(row.command)
        if command is None:
            # The flow gave up on this in the moment in which it happened. A message that nobody took goes back.
            if (given_up := self._given_up.pop(row.command, None)) is not None:
                self._compare(given_up, row)
            if row.kind == Kind.RECEIVE and row.outcome == Outcome.OK and row.attempt:
                self.returned[row.name].append(row.value or NULL)
            return
        self._compare(command, row)
        if row.outcome == Outcome.MARK:
            command.mark = row.value
            return
        if row.kind == Kind.RECEIVE and not row.attempt:
            if not self.returned[row.name]:
                self._diverged(row, f"{command}, but no message of this topic had been given back")
            self.returned[row.name].popleft()
        del self._open[row.command]
        self._pass_time(row.at)
        self._settle(command, row, ready)

    def _settle(self, command: Command, row: JournalRow, ready: tuple[Any, ...]) -> None:
        if command.handle is not None:
            self._timers.pop(id(command.handle), None)
            self.loop.fire(command.handle)
            return
        future = command.future
        assert future is not None
        command.future = None  # cut the circle here, and nothing is left to the garbage collector
        if command.cancelling or row.outcome == Outcome.CANCELLED:
            future.settle_cancelled()
        elif row.outcome == Outcome.ERROR:
            error = decode_error(row.value or NULL)
            if isinstance(error, StopIteration | StopAsyncIteration):  # a future cannot carry these
                error = RemoteError(type(error).__name__, str(error))
            future.set_exception(error)
        else:
            value = ready[0] if ready else self._decode(command, row)
            if command.kind is Kind.EVENT:
                self.log_position = value.position
            future.set_result(value)

    def _decode(self, command: Command, row: JournalRow) -> Any:
        try:
            return None if row.value is None else command.shape.decode(row.value)
        except ValueRefused as refused:
            raise ReplayDiverged(
                self.run_id,
                row.command,
                f"{row.kind} {row.name!r} with a result",
                f"an annotation that it does not fit ({refused})",
            ) from refused

    def _from_outside(self, row: JournalRow) -> None:
        if row.kind == Kind.PATCH:
            return
        self._pass_time(row.at)
        assert self._main is not None
        self._stopping = RunState.TIMED_OUT if row.kind == Kind.DEADLINE else RunState.CANCELLED
        self._main.cancel()

    def _pass_time(self, at: Instant) -> None:
        if at > self._now:
            self._now = at
            self.loop.advance((at - self._started_at) / 1_000_000)

    def _compare(self, command: Command, row: JournalRow) -> None:
        if command.kind != row.kind or command.name != row.name:
            self._diverged(row, str(command))
        if command.arguments != row.arguments and row.outcome != Outcome.MARK:
            self.changed_arguments.append((command, row.arguments))

    def _diverged(self, row: JournalRow, found: str) -> NoReturn:
        recorded = f"{row.kind} {row.name!r}" if row.name else row.kind
        raise ReplayDiverged(self.run_id, row.command, recorded, found)

    def check_left(self, rows: Iterator[JournalRow]) -> None:
        """Completions that came when the flow had already ended are fine, unless the flow never asked for them."""
        for row in rows:
            if row.command >= self._next:
                self._diverged(row, "the end of the flow")

    def open_commands(self) -> list[Command]:
        return list(self._open.values())

    def is_open(self, command: Command) -> bool:
        return self._open.get(command.ordinal) is command

    def seen(self) -> Seen:
        """What must not reach the run that goes on in the place of this one."""
        returned = [Message(0, topic, value, self._now) for topic, values in self.returned.items() for value in values]
        return Seen(self.delivered, tuple(returned), self._stopping is RunState.CANCELLED)

    @property
    def is_stopping(self) -> bool:
        return self._stopping is not None or self._outcome is not None

    def close(self) -> None:
        """Leave memory. The run itself is not touched: its rows bring it back."""
        guard.enter(self)
        try:
            self.loop.kill()
        finally:
            guard.leave()
        self._main = None
        self._open.clear()
        self._timers.clear()
        self._given_up.clear()

    # What the flow asks for

    def _issue(self, kind: Kind, name: str, arguments: bytes | None) -> Command:
        if self.loop.dead:
            raise FlowEvicted
        command = Command(self._next, kind, name, arguments, self._now)
        self._next += 1
        self._open[command.ordinal] = command
        self.issued.append(command)
        return command

    def _await(self, command: Command, shape: Decoder) -> CommandFuture:
        command.shape = shape
        command.future = CommandFuture(self, command)
        return command.future

    def call_step(self, step: Step[Any, Any], arguments: bytes) -> CommandFuture:
        command = self._issue(Kind.STEP, step.name, arguments)
        command.step = step
        return self._await(command, step.shape.result)

    def call_flow(self, flow: Flow[Any, Any], arguments: bytes, run_id: str | None) -> CommandFuture:
        command = self._issue(Kind.CHILD, flow.name, arguments)
        command.flow, command.target = flow, run_id
        return self._await(command, flow.shape.result)

    def start_flow(self, flow: Flow[Any, Any], arguments: bytes, run_id: str | None, policy: Policy) -> CommandFuture:
        command = self._issue(Kind.START, flow.name, arguments)
        command.flow, command.target, command.policy = flow, run_id, policy
        return self._await(command, _REF)

    def send(self, run_id: str, topic: str, value: bytes) -> CommandFuture:
        command = self._issue(Kind.SEND, topic, value)
        command.target = run_id
        return self._await(command, _ANY)

    def receive(self, topic: str, shape: Shape) -> CommandFuture:
        return self._await(self._issue(Kind.RECEIVE, topic, None), shape)

    def publish(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef | None,
        event_id: str | None,
        source: str | None,
        time: datetime | None,
    ) -> CommandFuture:
        about = self._subject(topic, subject)
        stored, version = self._catalogue.topics.encode(check_topic(topic), data)
        head = {"kind": about.kind, "subject": about.id, "version": version, "id": event_id, "source": source}
        if time is not None:
            head["time"] = from_datetime(time)
        check_name(about.id, "a subject")
        if event_id is not None:
            check_name(event_id, "the id of an event")
        arguments = json.dumps(head, separators=(",", ":"))[:-1].encode() + b',"data":' + stored + b"}"
        return self._await(self._issue(Kind.PUBLISH, topic, arguments), PUBLISHED)

    def _subject(self, topic: str, subject: str | JobRef | None) -> Subject:
        if subject is not None:
            return self._catalogue.subject_of(topic, subject)
        if self._job is None:
            raise DefinitionError(
                f"publish({topic!r}): say what it is about with subject=...; only runs that work for a job may leave it out"
            )
        return Subject(self._job.kind, self._job.id)

    def wait_event(self, topic: str, subject: str | JobRef | None) -> CommandFuture:
        check_pattern(topic)
        about = None if subject is None else self._catalogue.subject_of(topic, subject)
        wait = (
            {"after": self.log_position}
            if about is None
            else {"after": self.log_position, "kind": about.kind, "subject": about.id}
        )
        command = self._issue(Kind.EVENT, topic, json.dumps(wait, separators=(",", ":")).encode())
        return self._await(command, EventShape(self._catalogue.topics))

    def sleep_until(self, due: datetime) -> CommandFuture:
        command = self._issue(Kind.TIMER, "", None)
        command.due = from_datetime(due)
        return self._await(command, _ANY)

    def sleep(self, duration: timedelta) -> CommandFuture:
        command = self._issue(Kind.TIMER, "", None)
        command.due = min(self._now + max(0, to_micros(duration)), _LAST)
        return self._await(command, _ANY)

    def timer_set(self, handle: asyncio.TimerHandle) -> None:
        command = self._issue(Kind.TIMER, "", None)
        # As a float first: asyncio's way to wait for ever is to sleep for an infinite number of seconds.
        command.due = self._started_at + round(min(handle.when() * 1_000_000, float(_LAST - self._started_at)))
        command.handle = handle
        self._timers[id(handle)] = command

    def timer_cancelled(self, handle: asyncio.TimerHandle) -> None:
        command = self._timers.pop(id(handle), None)
        if command is not None:
            self._withdraw(command)

    def request_cancel(self, command: Command) -> bool:
        """Whether the end of the command has to be waited for; timers and receives end at once."""
        if self.loop.dead:
            return False
        if command.kind in (Kind.TIMER, Kind.RECEIVE, Kind.EVENT):
            self._withdraw(command)
            return False
        if not command.cancelling:
            command.cancelling = True
            self.withdrawn.append(command)
        return True

    def _withdraw(self, command: Command) -> None:
        self._open.pop(command.ordinal, None)
        self._given_up[command.ordinal] = command
        self.withdrawn.append(command)

    def now(self) -> datetime:
        return to_datetime(self._now)

    def random(self) -> random.Random:
        if self._random is None:
            self._random = random.Random(self._seed)
        return self._random

    def patched(self, name: str) -> bool:
        known = self._patches.get(name)
        if known is None:
            # A run has passed this point if its journal speaks of something that it asked for afterwards. That rows are left says nothing:
            # they may answer other branches, and have been written just before a crash that took the row of this patch.
            known = self._patches[name] = self.answered_ahead < self._next
            if known:
                self.new_patches.append(name)
        return known

    def continue_as_new(self, arguments: bytes) -> NoReturn:
        raise ContinueAsNew(arguments)

    def child_token(self, ordinal: int) -> int:
        """A large number for the id of a child without a template: the same in every replay."""
        return random.Random(f"{self._seed}/{ordinal}").getrandbits(64)

    # Looking at it

    def stack(self) -> list[str]:
        """Where each task of the flow waits, as lines of ``file:line in function``, the outermost first."""
        return [
            f"{task.get_name()}: "
            + " > ".join(
                f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}" for frame in _frames(task)
            )
            for task in self.loop.tasks.values()
        ]

    def location(self) -> str:
        """The line of the author's code at which the flow waits."""
        if self._main is None or self._main.done():
            return ""
        frames = [frame for frame in _frames(self._main) if not _is_plumbing(frame)]
        return f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else ""


def machine_of(registry: Registry, record: RunRecord, rows: Iterable[JournalRow], *, strict: bool) -> RunMachine:
    """The machine of a recorded run, which knows the patches that its rows speak of."""
    return RunMachine(
        flow=registry.flows[record.flow],
        run_id=record.id,
        number=record.number,
        seed=record.seed,
        started_at=record.started_at or record.created_at,
        arguments=record.input,
        patches=frozenset(row.name for row in rows if row.kind == Kind.PATCH),
        strict=strict,
        catalogue=registry.catalogue,
        begun_at_pos=record.begun_at_pos,
        job=record.job,
    )


def _continued(error: BaseException) -> bytes | None:
    """The arguments of the run that goes on, also if a task of a group said so."""
    if isinstance(error, ContinueAsNew):
        return error.arguments
    if isinstance(error, BaseExceptionGroup):
        found = [_continued(member) for member in error.exceptions]
        return found[0] if None not in found else None
    return None


def _frames(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    waiting: Any = task.get_coro()
    for _ in range(100):
        frame = getattr(waiting, "cr_frame", None)
        if frame is None:
            return
        yield frame
        waiting = waiting.cr_await


def _is_plumbing(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("headrace", "asyncio")


class Replay:
    """Drives a machine through recorded rows; live running begins where it stops."""

    def __init__(self, machine: RunMachine, rows: list[JournalRow]) -> None:
        self.machine = machine
        # The machine knows its patches already; a row that says no more than that is no sign that the flow was past this point.
        self.rows = [row for row in rows if row.kind != Kind.PATCH]
        self.position = 0
        self._ahead = [OUTSIDE, *itertools.accumulate((row.command for row in reversed(self.rows)), max)]
        self._begun = False

    def run(self, budget: float | None = None) -> bool:
        """Go on for about ``budget`` seconds; True when all rows are in. Raises ReplayDiverged, ValueRefused."""
        machine, rows = self.machine, self.rows
        until = None if budget is None else time.perf_counter() + budget
        if not self._begun:
            self._begun = True
            machine.begin()
        while True:
            machine.answered_ahead = self._ahead[len(rows) - self.position]
            if not machine.advance(budget):
                return False
            if machine.violation is not None:
                raise machine.violation
            if machine.ended is not None:
                machine.check_left(itertools.islice(rows, self.position, None))
                self.position = len(rows)
                return True
            if self.position == len(rows):
                return True
            machine.deliver(rows[self.position])
            self.position += 1
            if until is not None and self.position % 32 == 0 and time.perf_counter() > until:
                return False
