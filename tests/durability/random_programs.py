"""Random asyncio programs, run live by a seeded scheduler and replayed.

``python -m tests.durability.random_programs SEED ...`` repeats single programs, ``--count N --from SEED`` searches.
A failure is shown with its seed and the smallest program that still fails.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import functools
import gc
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import time
import warnings
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import IO, Any, Self

from headrace._authoring import guard
from headrace._authoring.loop import MAKES_GATHERING
from headrace._base.clock import Instant
from headrace._base.recorded_error import encode_error
from headrace._engine.machine import Command, Replay, RunMachine
from headrace._runs.model import OUTSIDE, JournalRow, Kind, Outcome
from headrace.errors import HeadraceError
from tests.durability.interpreted_flow import TYPED, Broken, Tree, plain_world, program, traces
from tests.tree import ROOT

STARTED: Instant = 1_767_225_600_000_000
TOPICS = ("red", "blue")
MOST_ROWS = 400

# --- programs ----------------------------------------------------------------------------------------------------------

ENGINE_ONLY = (
    "durable_sleep until now random task_name child start send receive race_for_message patched set_of_gathers typed mutate dropped"
).split()


class Generator:
    """Programs of about ``size`` nodes; ``plain`` ones need nothing but asyncio."""

    def __init__(self, chance: random.Random, *, plain: bool) -> None:
        self.chance = chance
        self.plain = plain
        self.names = itertools.count()
        self.simple = [kind for kind in _SIMPLE if not (plain and kind in ENGINE_ONLY)]
        self.nested = [kind for kind in _NESTED if not (plain and kind in ENGINE_ONLY)]

    def tree(self, size: int) -> Tree:
        if size <= 1:
            return self._simple()
        kind = self.chance.choice(self.nested)
        return [kind, *_NESTED[kind](self, size - 1)]

    def _simple(self) -> Tree:
        kind = self.chance.choices(self.simple, [_SIMPLE[kind][0] for kind in self.simple])[0]
        return [kind, *_SIMPLE[kind][1](self)]

    def name(self) -> str:
        return f"s{next(self.names) % 12}"

    def some(self, size: int, most: int = 4) -> list[Tree]:
        count = self.chance.randint(1, most)
        return [self.tree(max(1, size // count)) for _ in range(count)]

    def parts(self, size: int, count: int) -> list[Tree]:
        return [self.tree(max(1, size // count)) for _ in range(count)]

    def flip(self) -> bool:
        return self.chance.random() < 0.5

    def milliseconds(self) -> int:
        return self.chance.choice((1, 2, 3, 5, 8, 20, 100))

    def maybe(self) -> int | None:
        return self.milliseconds() if self.flip() else None

    def topic(self) -> str:
        return self.chance.choice(TOPICS)


_Parts = Callable[[Generator], list[Any]]
_SIMPLE: dict[str, tuple[int, _Parts]] = {
    "step": (12, lambda g: [g.name()]),
    "typed": (3, lambda g: [g.chance.choice(list(TYPED)), g.name()]),
    "mutate": (2, lambda g: [g.name(), g.chance.randint(0, 6)]),
    "return": (1, lambda g: [g.chance.choice((1, 2, 3, None, "x"))]),
    "fail": (1, lambda g: [g.name()]),
    "yield": (2, lambda g: [g.chance.randint(1, 4)]),
    "sleep": (3, lambda g: [g.milliseconds()]),
    "durable_sleep": (2, lambda g: [g.milliseconds()]),
    "until": (1, lambda g: [g.milliseconds()]),
    "now": (1, lambda _: []),
    "random": (1, lambda _: []),
    "task_name": (1, lambda _: []),
    "child": (2, lambda g: [g.name()]),
    "start": (1, lambda g: [g.name()]),
    "send": (1, lambda g: [g.topic()]),
    "receive": (2, lambda g: [g.topic()]),
    "cancel_left": (1, lambda _: []),
}
_NestedParts = Callable[[Generator, int], list[Any]]
_NESTED: dict[str, _NestedParts] = {
    "seq": lambda g, n: [g.some(n)],
    "loop": lambda g, n: [g.chance.randint(1, 3), g.tree(n // 2)],
    "shared": lambda g, n: [g.chance.choice("ab"), g.tree(n)],
    "mood": lambda g, n: [g.chance.choice(("gay", "grim")), g.tree(n)],
    "patched": lambda g, n: [g.chance.choice(("p", "q")), *g.parts(n, 2)],
    "try": lambda g, n: [*g.parts(n, 2), g.flip()],
    "stubborn": lambda g, n: [*g.parts(n, 2), g.flip()],
    "except_star": lambda g, n: [g.tree(n)],
    "timeout": lambda g, n: [g.milliseconds(), g.tree(n)],
    "wait_for": lambda g, n: [g.milliseconds(), g.tree(n)],
    "cancel": lambda g, n: [*g.parts(n, 2), g.flip()],
    "shield": lambda g, n: g.parts(n, 2),
    "leave": lambda g, n: [g.tree(n)],
    "gather": lambda g, n: [g.some(n), g.flip()],
    "group": lambda g, n: [g.some(n)],
    "as_completed": lambda g, n: [g.some(n), g.plain or g.flip(), g.maybe()],
    "wait": lambda g, n: [
        g.some(n),
        g.chance.choice(("FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED")),
        g.maybe(),
    ],
    "set": lambda g, n: [g.some(n, 9)],
    "set_of_gathers": lambda g, n: [g.some(n, 9)],
    "set_of_values": lambda g, n: [g.some(n)],
    "queue": lambda g, n: [g.some(n, 3), g.chance.randint(1, 3), g.chance.randint(0, 2)],
    "lock": lambda g, n: [g.some(n), g.chance.randint(1, 2)],
    "event": lambda g, n: [g.some(n, 3), g.tree(n // 3)],
    "condition": lambda g, n: [g.some(n, 3), g.flip()],
    "barrier": lambda g, n: [g.some(n, 3)],
    "generator": lambda g, n: [g.some(n, 3), g.chance.randint(1, 3), g.tree(n // 3)],
    "dropped": lambda g, n: [g.tree(n)],
    "race_for_message": lambda g, n: [g.topic(), g.tree(n)],
}


def program_of(seed: int, *, plain: bool = False) -> Tree:
    chance = random.Random(f"program {seed}")
    generator = Generator(chance, plain=plain)
    return ["seq", [generator.tree(chance.choice((3, 8, 16, 30))) for _ in range(chance.randint(1, 3))]]


# --- what the outside answers ------------------------------------------------------------------------------------------


class Answers:
    """What each call of a step comes to: decided by its name and how often it was called."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.calls: defaultdict[str, int] = defaultdict(int)

    def next(self, step: str, name: str) -> tuple[Any, Broken | None]:
        self.calls[name] += 1
        number = zlib.crc32(f"{self.seed} {name} {self.calls[name]}".encode())
        if number % 8 == 0:
            return None, Broken(name, self.calls[name])
        return _VALUES.get(step, int)(number % 10), None


_VALUES: dict[str, Callable[[int], Any]] = {
    "measure": lambda n: ("NaN", "Infinity", 0.5)[n % 3],
    "pair": lambda n: [n, f"{n}"],
    "words": lambda n: sorted(f"word{index}" for index in range(n)),
    "table": lambda n: {f"k{index}": [index] for index in range(n, 0, -1)},
    "nothing": lambda _: None,
}


def _encoded(command: Command, value: Any) -> bytes:
    if command.kind == Kind.START:
        return json.dumps({"id": f"child-{value}", "number": 1}).encode()
    text = json.dumps(value)
    return (
        {'"NaN"': b"NaN", '"Infinity"': b"Infinity"}.get(text, text.encode())
        if command.name == "measure"
        else text.encode()
    )


# --- live --------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Seen:
    """What one run of a program came to."""

    trace: list[str]
    commands: list[tuple[Any, ...]]
    ended: str

    def digest(self) -> str:
        return hashlib.sha256(repr((self.trace, self.commands, self.ended)).encode()).hexdigest()


def _seen(machine: RunMachine, trace: list[str], commands: list[Command]) -> Seen:
    described = [
        (item.ordinal, str(item.kind), item.name, item.arguments, item.due, item.target, item.policy)
        for item in commands
    ]
    ended = machine.ended
    outcome = "open" if ended is None else f"{ended.state} {ended.result!r} {ended.arguments!r} {ended.reason}"
    # A copy: what a flow says while it leaves memory is no part of what it has seen.
    return Seen(trace=trace.copy(), commands=described, ended=outcome)


def _machine(tree: Tree, seed: int, patches: frozenset[str] = frozenset()) -> tuple[RunMachine, list[str]]:
    trace: list[str] = []
    traces[:] = [trace]
    machine = RunMachine(
        flow=program, run_id=f"run-{seed}", number=1, seed=seed, started_at=STARTED,
        arguments=program.shape.encode((tree,), {}), patches=patches,
    )  # fmt: skip
    return machine, trace


@dataclass(kw_only=True)
class Recorded:
    """A live run: what it saw, and its journal."""

    tree: Tree
    seed: int
    rows: list[JournalRow]
    seen: Seen

    @property
    def cuts(self) -> list[int]:
        """The lengths at which a crash may have cut the journal."""
        return list(range(len(self.rows) + 1))


@dataclass
class Job:
    command: Command
    value: bytes | None = None
    error: bytes | None = None
    begun: bool = False
    stopping: bool = False


@dataclass
class Messages:
    """Messages of one topic as the engine keeps them: unread ones, and how many of those given back are lent again."""

    unread: deque[bytes] = field(default_factory=deque)
    lent: int = 0
    waiting: deque[Command] = field(default_factory=deque)


class Scheduler:
    """Does to a machine what the engine does, in an order that a seed decides."""

    def __init__(self, tree: Tree, seed: int) -> None:
        self.tree = tree
        self.seed = seed
        self.machine, self.trace = _machine(tree, seed)
        self.chance = random.Random(f"schedule {seed}")
        self.answers = Answers(seed)
        self.now = STARTED
        self.rows: list[JournalRow] = []
        self.crossing: deque[JournalRow] = deque()
        self.commands: list[Command] = []
        self.jobs: dict[int, Job] = {}
        self.timers: dict[int, Command] = {}
        self.topics: defaultdict[str, Messages] = defaultdict(Messages)
        self.cancelled = False
        self.cancels = self.chance.random() < 0.15
        self.sent = 0

    def run(self) -> Recorded:
        machine = self.machine
        machine.begin()
        self._advance()
        while machine.ended is None:
            actions = list(self._actions()) if len(self.rows) < MOST_ROWS else [self._deliver] * bool(self.crossing)
            if not actions:
                break
            self.chance.choice(actions)()
        self._count_messages()
        seen = _seen(machine, self.trace, self.commands)
        machine.close()
        return Recorded(tree=self.tree, seed=self.seed, rows=self.rows, seen=seen)

    def _count_messages(self) -> None:
        """Each message reached the flow once, or is still there."""
        found = [line.removeprefix("receive ")[1:-1] for line in self.trace if line.startswith("receive 'message")]
        still = [message for topic in self.topics.values() for message in topic.unread]
        still += [message for messages in self.machine.returned.values() for message in messages]
        still += [row.value or b"" for row in self.crossing if row.kind == Kind.RECEIVE and row.attempt]
        found += [json.loads(message) for message in still]
        if sorted(found) != sorted(f"message {number + 1}" for number in range(self.sent)):
            raise HeadraceError(f"{self.sent} messages were sent, and these are left: {sorted(found)}")

    def _actions(self) -> Iterator[Callable[[], None]]:
        for job in self.jobs.values():
            yield functools.partial(self._finish, job)
        due = [item for item in self.timers.values() if item.due <= self.now]
        for timer in due:
            yield functools.partial(self._fire, timer)
        if self.crossing:
            # Often, but not always, a completion is let in before the next one is recorded.
            yield from [self._deliver] * (1 + len(self.jobs))
        elif self.timers and not due:
            yield self._pass_time
        if any(topic.waiting for topic in self.topics.values()) or (self.sent < 3 and self.chance.random() < 0.1):
            yield self._send
        if self.cancels and not self.cancelled and not self.machine.is_stopping and self.chance.random() < 0.1:
            yield self._cancel

    # What happens

    def _finish(self, job: Job) -> None:
        command = job.command
        if command.kind == Kind.CHILD and not job.begun:
            job.begun = True
            self._record(command, Outcome.MARK, b'{"id":"child","number":1,"own":true}')
            return
        del self.jobs[command.ordinal]
        if job.stopping and command.kind in (Kind.STEP, Kind.CHILD):
            self._record(command, Outcome.CANCELLED, None)
        elif job.error is not None:
            self._record(command, Outcome.ERROR, job.error)
        else:
            self._record(command, Outcome.OK, job.value)

    def _fire(self, timer: Command) -> None:
        del self.timers[timer.ordinal]
        self._record(timer, Outcome.OK, None)

    def _pass_time(self) -> None:
        self.now = max(
            self.now, min(item.due for item in self.timers.values()) + self.chance.choice((0, 0, 700, 3_000))
        )

    def _send(self) -> None:
        self.sent += 1
        topic = self.chance.choice([name for name, one in self.topics.items() if one.waiting] or TOPICS)
        self.topics[topic].unread.append(f'"message {self.sent}"'.encode())
        self._match(topic)

    def _cancel(self) -> None:
        self.cancelled = True
        self._append(JournalRow(0, OUTSIDE, Kind.CANCEL, "", None, Outcome.OK, None, 1, self.now, self.now))

    def _deliver(self) -> None:
        row = self.crossing.popleft()
        self.machine.deliver(row)
        self._advance()
        if row.kind == Kind.RECEIVE:
            if not row.attempt:
                self.topics[row.name].lent -= 1
            self._match(row.name)

    # What the engine does

    def _record(self, command: Command, outcome: Outcome, value: bytes | None, attempt: int = 1) -> None:
        if self.chance.random() < 0.5:
            self.now += self.chance.choice((1, 300, 1_500))
        self._append(
            JournalRow(
                0,
                command.ordinal,
                command.kind,
                command.name,
                command.arguments,
                outcome,
                value,
                attempt,
                self.now,
                self.now,
            )
        )

    def _append(self, row: JournalRow) -> None:
        row = row._replace(seq=len(self.rows) + 1)
        self.rows.append(row)
        self.crossing.append(row)

    def _advance(self) -> None:
        machine = self.machine
        while not machine.advance(self.chance.choice((None, 0.0))):
            pass
        if machine.violation is not None:
            raise machine.violation
        for name in machine.new_patches:
            self._append(JournalRow(0, OUTSIDE, Kind.PATCH, name, None, Outcome.MARK, None, 1, self.now, self.now))
        machine.new_patches.clear()
        issued, machine.issued = machine.issued, []
        self.commands += issued
        for command in issued:
            if machine.is_open(command):
                self._begin(command)
        withdrawn, machine.withdrawn = machine.withdrawn, []
        for command in withdrawn:
            self._withdraw(command)

    def _begin(self, command: Command) -> None:
        if command.kind == Kind.TIMER:
            self.timers[command.ordinal] = command
        elif command.kind == Kind.RECEIVE:
            self.topics[command.name].waiting.append(command)
            self._match(command.name)
        elif command.cancelling:
            self._call(command)
            self._record(command, Outcome.CANCELLED, None)
        else:
            value, error = self._call(command)
            self.jobs[command.ordinal] = Job(
                command,
                value=None if command.kind == Kind.SEND else _encoded(command, value),
                error=None if error is None else encode_error(error),
            )

    def _call(self, command: Command) -> tuple[Any, Broken | None]:
        if command.kind in (Kind.SEND, Kind.START):
            return command.ordinal, None
        return self.answers.next(command.name, json.loads(command.arguments or b"")["name"])

    def _withdraw(self, command: Command) -> None:
        self.timers.pop(command.ordinal, None)
        if command.kind == Kind.RECEIVE and command in (waiting := self.topics[command.name].waiting):
            waiting.remove(command)
        if (job := self.jobs.get(command.ordinal)) is not None:
            job.stopping = True

    def _match(self, name: str) -> None:
        topic = self.topics[name]
        while topic.waiting:
            returned = self.machine.returned.get(name, ())
            if len(returned) > topic.lent:
                value = returned[topic.lent]
                topic.lent += 1
                self._record(topic.waiting.popleft(), Outcome.OK, value, attempt=0)
            elif topic.unread:
                self._record(topic.waiting.popleft(), Outcome.OK, topic.unread.popleft())
            else:
                return


# --- replay ------------------------------------------------------------------------------------------------------------


def replayed(recorded: Recorded, cut: int) -> Seen:
    """Replay the first ``cut`` rows, then let the others in as if they came live."""
    head, tail = recorded.rows[:cut], recorded.rows[cut:]
    machine, trace = _machine(
        recorded.tree, recorded.seed, frozenset(row.name for row in head if row.kind == Kind.PATCH)
    )
    replay = Replay(machine, head)
    while not replay.run(None):
        pass
    for row in tail:
        if machine.ended is None:
            machine.deliver(row)
            machine.advance()
    if machine.violation is not None:
        raise machine.violation
    seen = _seen(machine, trace, list(machine.issued))
    if machine.changed_arguments:
        seen.ended += f" with changed arguments {machine.changed_arguments}"
    machine.close()
    return seen


def difference(recorded: Recorded, cut: int) -> str | None:
    try:
        again = replayed(recorded, cut)
    except HeadraceError as error:
        return f"replay of {cut} of {len(recorded.rows)} rows: {error}"
    for what in ("trace", "commands", "ended"):
        live, now = getattr(recorded.seen, what), getattr(again, what)
        if live != now:
            place = next(
                (f" at {i}: {a!r} live, {b!r} now" for i, (a, b) in enumerate(zip(live, now, strict=False)) if a != b),
                "",
            )
            return f"replay of {cut} of {len(recorded.rows)} rows: another {what}{place if isinstance(live, list) else f': {live} / {now}'}"
    return None


# --- plain asyncio -----------------------------------------------------------------------------------------------------


class _Place:
    _order: int

    def __hash__(self) -> int:
        return self._order


class OrderedFuture(_Place, asyncio.Future[Any]):
    def __init__(self, loop: PlainLoop) -> None:
        self._order = loop.next_order()
        super().__init__(loop=loop)


class OrderedTask(_Place, asyncio.Task[Any]):
    def __init__(self, coro: Any, loop: PlainLoop, **options: Any) -> None:
        self._order = loop.next_order()
        super().__init__(coro, loop=loop, **options)


class Call(OrderedFuture):
    """A call of a step: as with a task, cancelling it is a wish."""

    _message: Any = None
    _asked = False

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        if not self._asked:
            self._asked, self._message = True, msg
        return True

    def settle(self, row: JournalRow, answer: tuple[Any, Broken | None]) -> None:
        if self._asked or row.outcome == Outcome.CANCELLED:
            super().cancel(self._message)
        elif answer[1] is not None:
            self.set_exception(answer[1])
        else:
            self.set_result(answer[0])


class PlainLoop(asyncio.SelectorEventLoop):
    """The event loop of asyncio. Only three things are ours: the time, when timers fire, and the order of sets of tasks (which is an accident of addresses otherwise)."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.order = zlib.crc32(f"run-{seed}".encode()) << 20
        self.seconds = 0.0
        self.waiting: dict[int, Any] = {}
        self.asked = 0
        self.answers = Answers(seed)
        self.outcomes: dict[int, tuple[Any, Broken | None]] = {}
        self.set_exception_handler(lambda *_: None)
        self.set_task_factory(lambda loop, coro, **options: OrderedTask(coro, self, **options))

    def next_order(self) -> int:
        self.order += 1
        return self.order

    def time(self) -> float:
        return self.seconds

    def get_debug(self) -> bool:
        if sys._getframe(1).f_code is MAKES_GATHERING:
            self.next_order()
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return OrderedFuture(self)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self.waiting[self.asked] = handle
        self.asked += 1
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    async def call(self, name: str) -> Any:
        call = Call(self)
        self.waiting[self.asked] = call
        self.outcomes[self.asked] = self.answers.next("work", name)
        self.asked += 1
        return await call

    def let_in(self, row: JournalRow) -> None:
        self.seconds = max(self.seconds, (row.at - STARTED) / 1_000_000)
        found = self.waiting.pop(row.command)
        if isinstance(found, asyncio.TimerHandle):
            self._ready.append(found)  # type: ignore[attr-defined]
        else:
            found.settle(row, self.outcomes[row.command])

    def settle_down(self) -> None:
        while self._ready:  # type: ignore[attr-defined]
            self._run_once()  # type: ignore[attr-defined]


def on_plain_asyncio(recorded: Recorded) -> list[str]:
    """The trace of the same program on asyncio's own loop, with completions in the same order."""
    trace: list[str] = []
    traces[:] = [trace]
    loop = PlainLoop(recorded.seed)
    hooks = sys.get_asyncgen_hooks()
    before = asyncio._get_running_loop()
    reset = plain_world.set(loop.call)
    asyncio._set_running_loop(loop)
    sys.set_asyncgen_hooks(firstiter=loop._asyncgen_firstiter_hook, finalizer=loop._asyncgen_finalizer_hook)  # type: ignore[attr-defined]
    try:
        main = loop.create_task(program.fn(recorded.tree))
        loop.settle_down()
        ending = False
        for row in [*recorded.rows, None]:
            if main.done() and not ending:
                ending = True
                for task in sorted(asyncio.all_tasks(loop), key=hash):
                    task.cancel()
                loop.settle_down()
            if row is None:
                break
            if row.command == OUTSIDE:
                loop.seconds = max(loop.seconds, (row.at - STARTED) / 1_000_000)
                main.cancel()
            elif not isinstance(held := loop.waiting[row.command], asyncio.TimerHandle) or not held.cancelled():
                loop.let_in(row)
            loop.settle_down()
        if main.done() and not main.cancelled():
            main.exception()
        return trace.copy()
    finally:
        _let_go(loop)
        asyncio._set_running_loop(before)
        sys.set_asyncgen_hooks(*hooks)
        plain_world.reset(reset)


def _let_go(loop: PlainLoop) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # coroutines that clean-up has made and nobody will run
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(RuntimeError):  # it awaited something in its clean-up
                copy_context().run(task.get_coro().close)  # what it sets there is nothing to the next program
        loop._ready.clear()  # type: ignore[attr-defined]
    asyncio._set_running_loop(None)
    loop.close()


# --- another process ---------------------------------------------------------------------------------------------------


class OtherProcess:
    """Replays in a process with another hash seed, other addresses and another garbage collector's rhythm."""

    def __init__(self, hash_seed: int) -> None:
        self.hash_seed = hash_seed
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        environment = os.environ | {"PYTHONHASHSEED": str(self.hash_seed), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        command = [sys.executable, "-m", "tests.durability.random_programs", "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self.process.communicate()

    def digests(self, recorded: Recorded, cuts: list[int]) -> list[str]:
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        rows = [[_to_text(part) for part in row] for row in recorded.rows]
        request = {"tree": recorded.tree, "seed": recorded.seed, "rows": rows, "cuts": cuts}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        found: list[str] = json.loads(self.process.stdout.readline())
        return found


def _to_text(part: Any) -> Any:
    return {"b": base64.b64encode(part).decode()} if isinstance(part, bytes) else part


def _from_text(part: Any) -> Any:
    return base64.b64decode(part["b"]) if isinstance(part, dict) else part


def serve(requests: IO[str], answers: IO[str]) -> None:
    gc.set_threshold(37, 3, 3)
    chance = random.Random()
    held: list[bytearray] = []
    for line in requests:
        held = [bytearray(chance.randint(1, 900)) for _ in range(2_000)][:: chance.randint(2, 5)]
        request = json.loads(line)
        rows = [JournalRow(*map(_from_text, row)) for row in request["rows"]]
        recorded = Recorded(
            tree=request["tree"], seed=request["seed"], rows=rows, seen=Seen(trace=[], commands=[], ended="")
        )
        found = []
        for cut in request["cuts"]:
            try:
                found.append(replayed(recorded, cut).digest())
            except HeadraceError as error:
                found.append(f"{type(error).__name__}: {error}")
        print(json.dumps(found), file=answers, flush=True)
    held.clear()


# --- checks ------------------------------------------------------------------------------------------------------------


def trouble(
    tree: Tree, seed: int, *, prefixes: bool, plain: bool = False, other: OtherProcess | None = None
) -> str | None:
    """Why this program does not see the same in every replay, if so."""
    try:
        recorded = Scheduler(tree, seed).run()
    except HeadraceError as error:
        return f"live: {error}"
    if plain:
        try:
            trace = on_plain_asyncio(recorded)
        except KeyError as error:
            return f"plain asyncio never asked for command {error}"
        if trace != recorded.seen.trace:
            pairs = itertools.zip_longest(recorded.seen.trace, trace)
            place = next((i, a, b) for i, (a, b) in enumerate(pairs) if a != b)
            return f"plain asyncio sees something else at {place[0]}: {place[1]!r} here, {place[2]!r} there"
        return None
    cuts = recorded.cuts if prefixes else [len(recorded.rows)] * 2
    for cut in cuts:
        if (found := difference(recorded, cut)) is not None:
            return found
    if other is not None:
        digest = recorded.seen.digest()
        for cut, answer in zip(cuts, other.digests(recorded, cuts), strict=True):
            if answer != digest:
                return f"in another process, replay of {cut} of {len(recorded.rows)} rows: {answer}"
    return None


def shrunk(tree: Tree, fails: Callable[[Tree], bool], tries: int = 2_000) -> Tree:
    """The smallest program found that still fails, by leaving out parts of it."""
    left = tries
    going = True
    while going:
        going = False
        for smaller in _smaller(tree):
            left -= 1
            if left < 0:
                return tree
            if fails(smaller):
                tree, going = smaller, True
                break
    return tree


def _smaller(tree: Tree) -> Iterator[Tree]:
    kind, *parts = tree
    for index, part in enumerate(parts):
        if not isinstance(part, list):
            continue
        inner = [part] if _is_tree(part) else part
        yield from inner
        if not _is_tree(part):
            for number in range(len(part)):
                if len(part) > 1:
                    yield [kind, *parts[:index], part[:number] + part[number + 1 :], *parts[index + 1 :]]
                for smaller in [["return", None], *_smaller(part[number])] if part[number] != ["return", None] else []:
                    yield [kind, *parts[:index], [*part[:number], smaller, *part[number + 1 :]], *parts[index + 1 :]]
        elif part != ["return", None]:
            for smaller in [["return", None], *_smaller(part)]:
                yield [kind, *parts[:index], smaller, *parts[index + 1 :]]


def _is_tree(part: list[Any]) -> bool:
    return bool(part) and isinstance(part[0], str)


def report(seed: int, *, plain: bool, found: str, fails: Callable[[Tree], bool]) -> str:
    smallest = shrunk(program_of(seed, plain=plain), fails)
    return (
        f"seed {seed}: {found}\n  smallest program: {json.dumps(smallest)}\n"
        f"  repeat with: python -m tests.durability.random_programs {'--plain ' if plain else ''}{seed}"
    )


def search(
    seeds: range | list[int], *, plain: bool = False, prefixes_every: int = 10, other: OtherProcess | None = None
) -> list[str]:
    """Reports of the first failures among the programs of these seeds."""
    guard.install()
    failures: list[str] = []
    for seed in seeds:
        prefixes = not plain and seed % prefixes_every == 0
        tree = program_of(seed, plain=plain)
        found = trouble(tree, seed, prefixes=prefixes, plain=plain, other=other)
        if found is not None:

            def fails(smaller: Tree, seed: int = seed, prefixes: bool = prefixes) -> bool:
                return trouble(smaller, seed, prefixes=prefixes, plain=plain, other=other) is not None

            failures.append(report(seed, plain=plain, found=found, fails=fails))
            if len(failures) == 3:
                break
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, help="repeat these programs")
    parser.add_argument("--count", type=int, default=0, help="search this many")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="compare with plain asyncio instead of replays")
    parser.add_argument("--every", type=int, default=10, help="replay from every prefix in one of so many programs")
    parser.add_argument("--serve", action="store_true", help="replay what stdin says (the other process)")
    options = parser.parse_args()
    if options.serve:
        serve(sys.stdin, sys.stdout)
        return 0
    begun = time.perf_counter()
    seeds = options.seeds or range(options.first, options.first + options.count)
    with OtherProcess(hash_seed=4711) as other:
        failures = search(seeds, plain=options.plain, prefixes_every=1 if options.seeds else options.every, other=other)
    print("\n".join(failures) or f"{len(seeds)} programs, no difference, {time.perf_counter() - begun:.1f} s")
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
