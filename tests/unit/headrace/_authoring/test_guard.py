"""What flows may not touch, and what they may."""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, flow
from headrace._authoring import guard
from headrace._base.clock import Instant
from headrace._engine.machine import Ended, Replay, RunMachine
from headrace._runs.model import RunState
from headrace.errors import DefinitionError, NotDeterministic

NOW: Instant = 1_767_225_600_000_000


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("story")
    code = compile("from headrace import flow\n" + source, "story.py", "exec")
    exec(code, module.__dict__)
    return module


def body(*lines: str, head: str = "") -> str:
    return f"{head}\n@flow\nasync def story() -> object:\n" + "\n".join(f"    {line}" for line in lines) + "\n"


BANNED = {
    "time.time": (body("return time.time()", head="import time"), "headrace.now()"),
    "time under another name": (body("return clock.time_ns()", head="import time as clock"), "headrace.now()"),
    "time() itself": (body("return time()", head="from time import time"), "headrace.now()"),
    "monotonic under another name": (body("return tick()", head="from time import monotonic as tick"), "headrace.now()"),
    "perf_counter": (body("return time.perf_counter()", head="import time"), "headrace.now()"),
    "gmtime of now": (body("return time.gmtime()", head="import time"), "headrace.now()"),
    "time.sleep": (body("time.sleep(1)", head="import time"), "headrace.sleep"),
    "datetime.now": (body("return datetime.now()", head="from datetime import datetime"), "headrace.now()"),
    "datetime.now by module": (body("return datetime.datetime.now()", head="import datetime"), "headrace.now()"),
    "datetime under another name": (body("return dt.utcnow()", head="from datetime import datetime as dt"), "headrace.now()"),
    "date.today": (body("return date.today()", head="from datetime import date"), "headrace.now()"),
    "a bound now": (body("return now()", head="from datetime import datetime\nnow = datetime.now"), "headrace.now()"),
    "random.random": (body("return random.random()", head="import random"), "headrace.random()"),
    "choice under another name": (body("return pick([1])", head="from random import choice as pick"), "headrace.random()"),
    "Random without a seed": (body("return random.Random()", head="import random"), "headrace.random()"),
    "SystemRandom": (body("return SystemRandom()", head="from random import SystemRandom"), "headrace.random()"),
    "secrets": (body("return secrets.token_hex()", head="import secrets"), "headrace.random()"),
    "uuid4": (body("return uuid.uuid4()", head="import uuid"), "headrace.uuid()"),
    "uuid1 itself": (body("return uuid1()", head="from uuid import uuid1"), "headrace.uuid()"),
    "urandom": (body("return os.urandom(8)", head="import os"), "headrace.random()"),
    "open": (body("return open('x').read()"), "@step"),
    "input": (body("return input()"), "@step"),
    "os.system": (body("return os.system('x')", head="import os"), "@step"),
    "pool": (body("ThreadPoolExecutor()", head="from concurrent.futures import ThreadPoolExecutor"), "asyncio.create_task"),
    "pool by module": (body("futures.ThreadPoolExecutor()", head="from concurrent import futures"), "asyncio.create_task"),
    "Thread by module": (body("threading.Thread(target=print)", head="import threading"), "asyncio.create_task"),
    "Thread": (body("Thread(target=print).start()", head="from threading import Thread"), "asyncio.create_task"),
    "all_tasks": (body("return asyncio.all_tasks()", head="import asyncio"), "keep the tasks in a list"),
    "lazy import": (body("import time", "return time.time()"), "headrace.now()"),
    "lazy import of a name": (body("from random import random as chance", "return chance()"), "headrace.random()"),
    "an alias in the body": (body("clock = time", "return clock.time()", head="import time"), "headrace.now()"),
    "helper": (body("return helper()", head="import time\ndef helper(): return time.time()"), "headrace.now()"),
    "helper of a helper": (
        body("return one()", head="import time\ndef two(): return time.time()\ndef one(): return two()"), "headrace.now()",
    ),
    "cached helper": (
        body("return helper()", head="import time, functools\n@functools.cache\ndef helper(): return time.time()"), "headrace.now()",
    ),
    "comprehension": (body("return [random.random() for _ in 'ab']", head="import random"), "headrace.random()"),
    "generator": (body("return list(time.time() for _ in 'ab')", head="import time"), "headrace.now()"),
    "lambda": (body("return sorted('ab', key=lambda _: random.random())", head="import random"), "headrace.random()"),
    "nested def": (body("async def inner(): return uuid.uuid4()", "return await inner()", head="import uuid"), "headrace.uuid()"),
    "name of the outer function": (
        body("import time", "def inner(): return time.time()", "return inner()"), "headrace.now()",
    ),
    "passed as a value": (body("return dict.fromkeys('a', uuid.uuid4)", head="import uuid"), "headrace.uuid()"),
}  # fmt: skip


@pytest.mark.parametrize("name", BANNED)
def test_clock_and_chance_are_refused_when_the_flow_is_declared(name: str) -> None:
    """The first replay would differ, weeks later and in production."""
    source, replacement = BANNED[name]

    with pytest.raises(DefinitionError, match=r"story\.py:\d+") as refused:
        module_of(source)

    assert replacement in str(refused.value)


def test_helpers_below_the_flow_are_read_when_the_pipeline_is_made() -> None:
    """Most people write helpers below, where the decorator cannot see them yet."""
    module = module_of(body("return helper()") + "import time\ndef helper(): return time.time()\n")

    with pytest.raises(DefinitionError, match=r"story\.py:7"):
        Pipeline("stories", flows=[module.story])


def test_names_around_a_nested_flow_are_known() -> None:
    """Flows of tests stand in functions, and see their imports as closures."""
    import time

    with pytest.raises(DefinitionError, match=r"headrace\.now"):

        @flow
        async def story() -> float:
            return time.time()  # noqa: TID251


ALLOWED = {
    "fromisoformat": body("return str(datetime.fromisoformat('2026-01-01'))", head="from datetime import datetime"),
    "fromtimestamp": body("return str(datetime.fromtimestamp(0, UTC))", head="from datetime import datetime, UTC"),
    "a date made by hand": body("return str(date(2026, 1, 1))", head="from datetime import date"),
    "Random with a seed": body("return random.Random(7).random()", head="import random"),
    "Random itself with a seed": body("return Random(7).random()", head="from random import Random"),
    "UUID": body("return str(uuid.UUID(int=3))", head="import uuid"),
    "uuid5": body("return str(uuid.uuid5(uuid.NAMESPACE_URL, 'x'))", head="import uuid"),
    "struct_time": body("return str(time.struct_time(range(9)))", head="import time"),
    "gmtime of something": body("return str(time.gmtime(0))", head="import time"),
    "lazy import": body("import colorsys", "return colorsys.rgb_to_hsv(0, 0, 0)"),
    "lazy first import of a package": body("import xmlrpc.client", "return str(xmlrpc.client.Fault)"),
    "logging": body("logging.getLogger('x').warning('said')", head="import logging"),
    "logging of an error": body("try: 1 / 0", "except ZeroDivisionError: logging.getLogger('x').exception('ouch')", head="import logging"),
    "traceback": body("try: 1 / 0", "except ZeroDivisionError: return traceback.format_exc()[:9]", head="import traceback"),
    "print": body("print('hello')"),
    "time zone": body("return str(datetime(2026, 1, 1, tzinfo=ZoneInfo('Asia/Tokyo')))", head="from datetime import datetime\nfrom zoneinfo import ZoneInfo"),
    "a global that is called open": body("return open()", head="def open(): return 1"),
    "an attribute that is called now": body("return Thing.now()", head="class Thing:\n    now = staticmethod(int)"),
    "a helper that is not called": body("return 1", head="import time\ndef helper(): return time.time()"),
    "os.path": body("return os.path.join('a', 'b')", head="import os"),
    "asyncio": body("import asyncio", "async with asyncio.timeout(5), asyncio.Lock(): await asyncio.sleep(0)"),
    "warning": body("with warnings.catch_warnings():", "    warnings.simplefilter('ignore')", "    warnings.warn('x')", head="import warnings"),
}  # fmt: skip


def ended(story: Any, *, strict: bool = False) -> tuple[Ended | None, NotDeterministic | None]:
    machine = RunMachine(flow=story, run_id="r", number=1, seed=1, started_at=NOW, arguments=b"{}", strict=strict)
    machine.begin()
    try:
        machine.advance()
        return machine.ended, machine.violation
    finally:
        machine.close()


@pytest.fixture(autouse=True)
def hook() -> None:
    guard.install()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_the_same_in_every_replay_is_left_alone(name: str, strict: bool) -> None:
    """A guard that cries wolf is switched off."""
    story = module_of(ALLOWED[name]).story

    outcome, violation = ended(story, strict=strict)

    assert violation is None
    assert outcome is not None
    assert outcome.state is RunState.COMPLETED


TOUCHED = {
    "open by a library": (body("return pathlib.Path('x').read_text()", head="import pathlib"), "open was called", "@step"),
    "listdir": (body("return os.listdir('.')", head="import os"), "os.listdir", "@step"),
    "socket": (body("socket.socket()", head="import socket"), "socket", "@step"),
    "getaddrinfo": (body("socket.getaddrinfo('localhost', 1)", head="import socket"), "socket.getaddrinfo", "@step"),
    "subprocess": (body("subprocess.run(['true'])", head="import subprocess"), "subprocess.Popen", "@step"),
    "to_thread": (body("await asyncio.to_thread(print)", head="import asyncio"), "run_in_executor()", "@step"),
    "run_in_executor": (body("await asyncio.get_running_loop().run_in_executor(None, print)", head="import asyncio"), "run_in_executor()", "@step"),
    "open_connection": (body("await asyncio.open_connection('localhost', 1)", head="import asyncio"), "create_connection()", "@step"),
    "subprocess of asyncio": (body("await asyncio.create_subprocess_exec('true')", head="import asyncio"), "subprocess_exec()", "@step"),
    "sqlite": (body("__import__('sqlite3').connect(':memory:')"), "sqlite3.connect", "@step"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOUCHED)
def test_the_outside_is_refused_with_the_line_and_the_replacement(name: str) -> None:
    """The author must find the place without a debugger."""
    source, what, replacement = TOUCHED[name]

    outcome, violation = ended(module_of(source).story)

    assert outcome is not None
    assert outcome.state is RunState.FAILED
    assert violation is not None
    text = str(violation)
    assert what in text
    assert replacement in text
    assert "story.py:" in text


def test_swallowing_the_error_does_not_help() -> None:
    """A broad except in a flow would turn the defect into a wrong result."""
    source = body("try: open('x')", "except Exception: return 'fallback'").replace(
        "open('x')", "__builtins__['open']('x')"
    )

    replay = Replay(
        RunMachine(flow=module_of(source).story, run_id="r", number=1, seed=1, started_at=NOW, arguments=b"{}"), []
    )

    with pytest.raises(NotDeterministic, match=r"story\.py"):
        replay.run()
    replay.machine.close()


def test_trusted_modules_may() -> None:
    """Some libraries read their data files at first use, and give the same answers ever after."""
    helper = types.ModuleType("trusted_helper")
    exec("def read():\n    with open('/dev/null') as file: return file.read()", helper.__dict__)
    story = module_of(body("return read()")).story
    story.fn.__globals__["read"] = helper.__dict__["read"]
    guard.trust(("trusted_helper",))

    outcome, violation = ended(story)

    assert violation is None
    assert outcome is not None
    assert outcome.state is RunState.COMPLETED


def test_the_outside_is_open_outside_flows() -> None:
    """Steps and the host program share the process with flows."""
    ended(module_of(body("return 1")).story)

    with open("/dev/null") as file:  # noqa: PTH123 - it is the call that the guard would refuse
        assert file.read() == ""


def test_clean_up_of_an_evicted_run_touches_nothing() -> None:
    """A run leaves memory when it is idle; what its finally blocks do then would happen again later."""
    source = body("try: await asyncio.sleep(9)", "finally: log.append(1), pathlib.Path('/dev/null').write_text('x'), log.append(2)",
                  head="import asyncio, pathlib\nlog = []")  # fmt: skip
    module = module_of(source)
    machine = RunMachine(flow=module.story, run_id="r", number=1, seed=1, started_at=NOW, arguments=b"{}")
    machine.begin()
    machine.advance()

    machine.close()

    assert module.log == [1]


@pytest.mark.allow_blocking
@pytest.mark.parametrize(
    "source",
    [
        body("getattr(time, 'sl' + 'eep')(0)", head="import time"),
        body("getattr(threading, 'Th' + 'read')(target=print).start()", head="import threading"),
        body("return getattr(time, 'ti' + 'me')()", head="import time"),
        body("return type(datetime(2026, 1, 1)).now()", head="from datetime import datetime"),
        body("return tempfile._RandomNameSequence().rng.random()", head="import tempfile"),
        body("return sum(make() for make in [random.Random])", head="import random").replace(
            "sum(make()", "sum(make().random()"
        ),
    ],
)
def test_the_net_for_tests_finds_what_nobody_can_read(source: str) -> None:
    """Clock and chance raise no audit events; behind a helper only this finds them."""
    story = module_of(source).story

    _, violation = ended(story, strict=True)

    assert violation is not None


@pytest.fixture
def logged(tmp_path: Any) -> Iterator[Callable[[], str]]:
    path = tmp_path / "late.log"
    handler = logging.FileHandler(path, delay=True)
    logging.getLogger("late").addHandler(handler)
    yield lambda: path.read_text() if path.exists() else ""
    logging.getLogger("late").removeHandler(handler)
    handler.close()


def test_log_handlers_may_open_their_file_late(logged: Callable[[], str]) -> None:
    """Where a log line goes is the host's affair."""
    story = module_of(body("logging.getLogger('late').warning('said')", head="import logging")).story

    _, violation = ended(story)

    assert violation is None
    assert logged() == "said\n"


async def test_a_step_on_the_host_loop_is_free_while_a_flow_waits() -> None:
    """The guard belongs to a slice of a flow, not to the thread."""
    machine = RunMachine(
        flow=module_of(body("await asyncio.sleep(5)", head="import asyncio")).story,
        run_id="r", number=1, seed=1, started_at=NOW, arguments=b"{}",
    )  # fmt: skip
    machine.begin()
    machine.advance()

    found = await asyncio.to_thread(Path("/dev/null").read_text)

    assert found == ""
    assert machine.violation is None
    machine.close()
