"""A flow that does what a program says; the program is data: ``[kind, *parts]``, nested.

Everything that the flow sees goes into a trace. Two runs that see the same have the same trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import headrace
from headrace import flow, receive, send, sleep, start, step

Tree = list[Any]
Outside = Callable[[str], Awaitable[Any]]

plain_world: ContextVar[Outside | None] = ContextVar("plain_world", default=None)
"""What answers step calls when the program runs on plain asyncio."""

traces: list[list[str]] = []
"""The trace of the run that begins next is put here."""

_mood: ContextVar[str] = ContextVar("mood", default="calm")


class Broken(Exception):
    """What a failing step raises."""


async def _answer(name: str) -> Any:
    world = plain_world.get()
    assert world is not None, "a step of a random program is never executed: the scheduler answers for it"
    return await world(name)


@step
async def work(name: str) -> int:
    answer: int = await _answer(name)
    return answer


@step
async def measure(name: str) -> float:
    answer: float = await _answer(name)
    return answer


@step
async def pair(name: str) -> tuple[int, str]:
    answer: tuple[int, str] = await _answer(name)
    return answer


@step
async def words(name: str) -> set[str]:
    answer: set[str] = await _answer(name)
    return answer


@step
async def table(name: str) -> dict[str, list[int]]:
    answer: dict[str, list[int]] = await _answer(name)
    return answer


@step
async def nothing(name: str) -> None:
    await _answer(name)


@step
async def take(name: str, values: list[int], chosen: set[str]) -> int:
    answer: int = await _answer(name)
    return answer


TYPED: dict[str, Callable[[str], Awaitable[Any]]] = {
    "measure": measure,
    "pair": pair,
    "words": words,
    "table": table,
    "nothing": nothing,
}


@flow
async def child(name: str) -> int:
    return await work(name)


@flow
async def program(tree: Tree) -> str:
    return await Interpreter(traces.pop()).run_program(tree)


class Interpreter:
    def __init__(self, trace: list[str]) -> None:
        self.trace = trace
        self.shared: dict[str, int] = {}
        self.tasks: list[asyncio.Task[Any]] = []

    def log(self, *what: object) -> None:
        self.trace.append(" ".join(map(str, what)))

    async def run_program(self, tree: Tree) -> str:
        try:
            result = await self.run(tree)
        except asyncio.CancelledError:
            self.log("main cancelled")
            raise
        except BaseException as error:
            self.log("main", _text(error))
            raise
        self.log("main", _text(result))
        return _text(result)

    async def run(self, tree: Tree) -> Any:
        kind, *parts = tree
        try:
            result = await getattr(self, f"do_{kind}")(*parts)
        except BaseException as error:
            self.log(kind, "raised", _text(error))
            raise
        self.log(kind, _text(result))
        return result

    def runs(self, trees: list[Tree]) -> list[Coroutine[Any, Any, Any]]:
        return [self.run(tree) for tree in trees]

    def begin(self, trees: list[Tree]) -> list[asyncio.Task[Any]]:
        return [asyncio.create_task(self.run(tree)) for tree in trees]

    # One thing

    async def do_step(self, name: str) -> int:
        return await work(name)

    async def do_typed(self, kind: str, name: str) -> str:
        value = await TYPED[kind](name)
        return _text(sorted(value) if isinstance(value, set) else value)

    async def do_mutate(self, name: str, count: int) -> int:
        values, chosen = list(range(count)), {f"{name}{index}" for index in range(count)}
        called = take(name, values, chosen)
        values.append(99)
        chosen.clear()
        return await called

    async def do_return(self, value: Any) -> Any:
        return value

    async def do_fail(self, text: str) -> None:
        raise ValueError(text)

    async def do_yield(self, count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    async def do_sleep(self, milliseconds: int) -> None:
        await asyncio.sleep(milliseconds / 1000)

    async def do_durable_sleep(self, milliseconds: int) -> None:
        await sleep(timedelta(milliseconds=milliseconds))

    async def do_until(self, milliseconds: int) -> None:
        await headrace.sleep_until(headrace.now() + timedelta(milliseconds=milliseconds))

    async def do_now(self) -> str:
        return f"{headrace.now()} {asyncio.get_running_loop().time()}"

    async def do_random(self) -> str:
        return f"{headrace.random().random()} {headrace.uuid()} {headrace.random().sample(range(50), 3)}"

    async def do_task_name(self) -> str:
        task = asyncio.current_task()
        assert task is not None
        return f"{task.get_name()} {task.cancelling()}"

    async def do_child(self, name: str) -> int:
        return await child(name)

    async def do_start(self, name: str) -> str:
        return str(await start(child, name))

    async def do_send(self, topic: str) -> None:
        await send("another", topic, [1, 2])

    async def do_receive(self, topic: str) -> str:
        return await receive(topic, str)

    async def do_patched(self, name: str, new: Tree, old: Tree) -> Any:
        return await self.run(new if headrace.patched(name) else old)

    # One after the other

    async def do_seq(self, trees: list[Tree]) -> list[Any]:
        return [await self.run(tree) for tree in trees]

    async def do_loop(self, count: int, tree: Tree) -> int:
        total = 0
        for number in range(count):
            value = await self.run(tree)
            total += value if isinstance(value, int) else number
            if total % 7 == 6:
                break
        return total

    async def do_shared(self, key: str, tree: Tree) -> int:
        seen = self.shared.get(key, 0)
        value = await self.run(tree)
        self.shared[key] = seen + (value if isinstance(value, int) else 1)
        if self.shared[key] % 2:
            await work(f"odd-{key}")
        return self.shared[key]

    async def do_mood(self, mood: str, tree: Tree) -> str:
        before = _mood.get()
        _mood.set(mood)
        await self.run(tree)
        return f"{before}->{_mood.get()}"

    # What can go wrong

    async def do_try(self, body: Tree, cleanup: Tree, swallow: bool) -> Any:
        try:
            return await self.run(body)
        except (Broken, ValueError, TimeoutError) as error:
            if not swallow:
                raise
            return f"caught {_text(error)}"
        finally:
            await self.run(cleanup)

    async def do_stubborn(self, body: Tree, cleanup: Tree, again: bool) -> Any:
        try:
            return await self.run(body)
        except asyncio.CancelledError as error:
            self.log("stubborn", error.args)
            await self.run(cleanup)
            if again:
                raise
            return "stayed"

    async def do_except_star(self, tree: Tree) -> str:
        found = []
        try:
            await self.run(tree)
        except* ValueError as group:
            found.append(f"values {_text(group)}")
        except* Broken as group:
            found.append(f"broken {_text(group)}")
        return " ".join(found)

    async def do_timeout(self, milliseconds: int, tree: Tree) -> Any:
        try:
            async with asyncio.timeout(milliseconds / 1000) as scope:
                result = await self.run(tree)
                if result == 3:
                    scope.reschedule(None)
        except TimeoutError:
            return "late"
        return result

    async def do_wait_for(self, milliseconds: int, tree: Tree) -> Any:
        return await asyncio.wait_for(self.run(tree), milliseconds / 1000)

    async def do_cancel(self, tree: Tree, trigger: Tree, twice: bool) -> str:
        task = asyncio.create_task(self.run(tree))
        self.tasks.append(task)
        await self.run(trigger)
        task.cancel("enough")
        if twice:
            await asyncio.sleep(0)
            task.cancel("really")
        try:
            return f"ended {_text(await task)}"
        except (asyncio.CancelledError, Broken, ValueError, TimeoutError, ExceptionGroup) as error:
            if (current := asyncio.current_task()) is not None and current.cancelling():
                raise
            return f"cancelled {_text(error)}"

    async def do_shield(self, tree: Tree, trigger: Tree) -> str:
        inner = asyncio.create_task(self.run(tree))
        outer = asyncio.ensure_future(asyncio.shield(inner))
        await self.run(trigger)
        outer.cancel()
        ended = await asyncio.gather(outer, inner, return_exceptions=True)
        return _text(ended)

    async def do_leave(self, tree: Tree) -> None:
        self.tasks.append(asyncio.create_task(self.run(tree), name="left"))

    async def do_cancel_left(self) -> int:
        for task in self.tasks:
            task.cancel()
        return len(self.tasks)

    # Many at a time

    async def do_gather(self, trees: list[Tree], return_exceptions: bool) -> Any:
        found = await asyncio.gather(*self.runs(trees), return_exceptions=return_exceptions)
        return [_text(item) for item in found]

    async def do_group(self, trees: list[Tree]) -> list[Any]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.run(tree)) for tree in trees]
        return [task.result() for task in tasks]

    async def do_as_completed(self, trees: list[Tree], made: bool, milliseconds: int | None) -> list[str]:
        limit = None if milliseconds is None else milliseconds / 1000
        awaitables: list[Any] = self.begin(trees) if made else self.runs(trees)
        found = []
        for next_one in asyncio.as_completed(awaitables, timeout=limit):
            try:
                found.append(_text(await next_one))
            except (Broken, ValueError, TimeoutError, ExceptionGroup) as error:
                found.append(_text(error))
            self.log("next", found[-1])
        return found

    async def do_wait(self, trees: list[Tree], when: str, milliseconds: int | None) -> str:
        limit = None if milliseconds is None else milliseconds / 1000
        done, pending = await asyncio.wait(self.begin(trees), timeout=limit, return_when=when)
        seen = [_result(task) for task in done]
        for task in pending:
            task.cancel()
        left = await asyncio.gather(*pending, return_exceptions=True)
        return f"{seen} {[_text(item) for item in left]}"

    async def do_set(self, trees: list[Tree]) -> list[str]:
        waiting = set(self.begin(trees))
        found = []
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            found += [_result(task) for task in done]
        return found

    async def do_set_of_gathers(self, trees: list[Tree]) -> list[str]:
        gathers = {asyncio.gather(self.run(tree), self.run(["yield", 1]), return_exceptions=True) for tree in trees}
        return [_text(await one) for one in gathers]

    async def do_set_of_values(self, trees: list[Tree]) -> list[Any]:
        values = {_text(value) for value in await asyncio.gather(*self.runs(trees), return_exceptions=True)}
        in_order = dict.fromkeys(sorted(values))
        return [await work(f"value-{value[:8]}") for value in in_order]

    async def do_queue(self, producers: list[Tree], consumers: int, size: int) -> list[str]:
        queue: asyncio.Queue[str | None] = asyncio.Queue(size)
        taken: list[str] = []

        async def produce(tree: Tree) -> None:
            for _ in range(2):
                await queue.put(_text(await self.run(tree)))

        async def consume(number: int) -> None:
            while (item := await queue.get()) is not None:
                taken.append(f"{number}:{item}")
                await work(f"consumer{number}")
                queue.task_done()

        eating = [asyncio.create_task(consume(number)) for number in range(consumers)]
        try:
            await asyncio.gather(*(produce(tree) for tree in producers))
            for _ in eating:
                await queue.put(None)
            await asyncio.gather(*eating)
        finally:
            for task in eating:
                task.cancel()
        return taken

    async def do_lock(self, trees: list[Tree], places: int) -> list[Any]:
        lock = asyncio.Lock() if places == 1 else asyncio.Semaphore(places)

        async def guarded(tree: Tree) -> Any:
            async with lock:
                return await self.run(tree)

        return await asyncio.gather(*map(guarded, trees))

    async def do_event(self, waiting: list[Tree], first: Tree) -> list[Any]:
        event = asyncio.Event()

        async def after(tree: Tree) -> Any:
            await event.wait()
            return await self.run(tree)

        async def before() -> Any:
            try:
                return await self.run(first)
            finally:
                event.set()

        return await asyncio.gather(before(), *map(after, waiting))

    async def do_condition(self, trees: list[Tree], everyone: bool) -> list[Any]:
        condition, ready = asyncio.Condition(), [0]

        async def consume(tree: Tree) -> Any:
            async with condition:
                await condition.wait_for(lambda: ready[0] > 0)
                ready[0] -= 1
            return await self.run(tree)

        async def produce() -> None:
            for _ in trees:
                try:
                    await work("condition")
                except Broken:
                    self.log("no matter")
                async with condition:
                    ready[0] += 1
                    if everyone:
                        condition.notify_all()
                    else:
                        condition.notify()

        return await asyncio.gather(produce(), *map(consume, trees))

    async def do_barrier(self, trees: list[Tree]) -> list[Any]:
        barrier = asyncio.Barrier(len(trees))

        async def meet(tree: Tree) -> str:
            try:
                value = _text(await self.run(tree))
                return f"{value} {await barrier.wait()}"
            except (Broken, ValueError, TimeoutError, ExceptionGroup) as error:
                await barrier.abort()
                return _text(error)
            except asyncio.BrokenBarrierError:
                return "broken"

        return await asyncio.gather(*map(meet, trees))

    async def do_generator(self, trees: list[Tree], stop_after: int, cleanup: Tree) -> list[Any]:
        found = []

        async def each() -> AsyncGenerator[Any, None]:
            try:
                for tree in trees:
                    yield await self.run(tree)
            finally:
                await self.run(cleanup)

        async for value in each():
            found.append(value)
            if len(found) >= stop_after:
                break
        return found

    async def do_dropped(self, tree: Tree) -> str:
        """Only the garbage collector finds this generator, and nobody can say when."""

        async def each() -> AsyncGenerator[int, None]:
            try:
                yield 1
            finally:
                await self.run(tree)

        generator = each()
        held: list[object] = [generator]
        held.append(held)
        return f"dropped {await anext(generator)}"

    async def do_race_for_message(self, topic: str, other: Tree) -> str:
        message = asyncio.create_task(self.run(["receive", topic]))
        task = asyncio.create_task(self.run(other))
        await asyncio.wait([message, task], return_when=asyncio.FIRST_COMPLETED)
        message.cancel()
        task.cancel()
        return _text(await asyncio.gather(message, task, return_exceptions=True))


def _result(task: asyncio.Task[Any]) -> str:
    if task.cancelled():
        return "cancelled"
    return _text(task.exception() or task.result())


def _text(value: object) -> str:
    if isinstance(value, BaseExceptionGroup):
        return f"{type(value).__name__}{[_text(member) for member in value.exceptions]}"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}{value.args}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)
