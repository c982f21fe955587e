"""What the pool decides by itself; the processes are in tests/durability/test_worker_processes.py."""

from __future__ import annotations

import asyncio
from multiprocessing import process

import pytest

from headrace._engine.worker_main import Frame
from headrace._engine.workers import RecordedFailure, Work, WorkerPool, _Call
from headrace.errors import ConfigurationError, EngineUnavailable

WORK = Work(
    module="shop", qualname="pack", main_path=None, step_name="pack", arguments=b"{}", run_id="r", key="r/1", attempt=1, previous_progress=None
)  # fmt: skip


def never(_progress: bytes) -> None:
    raise AssertionError("there was no progress to tell")


async def test_of_fast_progress_the_last_word_is_told() -> None:
    """A step that reports in a tight loop must not flood the event loop, and its last report must not get lost."""
    told: list[bytes] = []
    call = _Call(WORK, told.append, asyncio.get_running_loop().create_future())

    to_be_told = [call.note(b"1"), call.note(b"2")]
    call.tell()
    to_be_told.append(call.note(b"3"))
    call.tell()
    call.tell()

    assert to_be_told == [True, False, True]
    assert told == [b"2", b"3"]


async def test_an_answer_ends_a_call() -> None:
    """The caller sleeps on this future alone."""
    call = _Call(WORK, never, asyncio.get_running_loop().create_future())

    call.finish((Frame.RESULT, b"1"))

    assert call.over.done()
    assert call.answer == (Frame.RESULT, b"1")


async def test_a_closed_pool_takes_no_work() -> None:
    """A process started while the engine stops would be nobody's."""
    pool = WorkerPool(size=1)
    await pool.close()

    with pytest.raises(EngineUnavailable):
        await pool.run(WORK, on_progress=never)


def test_a_script_that_a_worker_imports_is_kept_from_starting_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the usual guard every worker would start workers, without end."""
    monkeypatch.setattr(process.current_process(), "_inheriting", True, raising=False)

    with pytest.raises(ConfigurationError, match="__main__"):
        WorkerPool(size=1)


def test_a_recorded_failure_carries_the_bytes_of_the_worker() -> None:
    """Encoded again in the owner, the traceback would be the owner's."""
    assert RecordedFailure(b"{}").stored == b"{}"
