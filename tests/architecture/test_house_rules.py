"""The detectors of tests/conftest.py, tried out: a guard that never fires guards nothing."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest

from tests.conftest import BlockedLoop, blocked


async def test_sleeping_on_the_loop_is_noticed() -> None:
    """Without it a blocked loop would show up as a slow product, not as a failed test."""
    with pytest.raises(BlockedLoop):
        time.sleep(0)

    assert len(blocked) == 1
    blocked.clear()


async def test_waiting_for_a_thread_on_the_loop_is_noticed() -> None:
    """Locks held by another thread are the usual way to block a loop by accident."""
    lock = threading.Lock()
    with lock, pytest.raises(BlockedLoop):
        lock.acquire()

    assert len(blocked) == 1
    blocked.clear()


async def test_syncing_a_file_on_the_loop_is_noticed() -> None:
    """A sync takes milliseconds on a good day and seconds on a bad one; only the writer thread may wait for it."""
    with pytest.raises(BlockedLoop):
        os.fsync(0)

    assert len(blocked) == 1
    blocked.clear()


def test_blocking_without_a_loop_is_fine() -> None:
    """The detector must not forbid threads and plain programs what they are made for."""
    time.sleep(0)

    assert blocked == []


@pytest.mark.allow_blocking
async def test_a_marked_test_may_block() -> None:
    """Tests of the watchdog block the loop on purpose."""
    time.sleep(0)

    assert blocked == []


def test_the_outside_is_out_of_reach() -> None:
    """A test that asks a vendor passes here and fails on the next machine."""
    with socket.socket() as outside, pytest.raises(PermissionError, match="stand-in"):
        outside.connect(("192.0.2.1", 80))
