"""What travels between owner and worker, and what a worker hears while its step runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from headrace._engine.worker_main import Frame, Link, receive, send, send_at_once


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3 * 2**20])
def test_frames_of_every_size_arrive_whole(pair: tuple[socket.socket, socket.socket], size: int) -> None:
    """A body larger than the socket's buffer arrives in pieces; joined wrongly, values would be damaged in silence."""
    ours, theirs = pair
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    sender = threading.Thread(target=send, args=(ours, Frame.RESULT, body))
    sender.start()

    received = receive(theirs)

    sender.join()
    assert received == (Frame.RESULT, body)


def test_frames_keep_their_order(pair: tuple[socket.socket, socket.socket]) -> None:
    """Work and its arguments are told apart by their order alone."""
    ours, theirs = pair
    send(ours, Frame.WORK, b"{}")
    send(ours, Frame.ARGUMENTS, b"[]")
    send_at_once(ours, Frame.CANCEL)

    received = [receive(theirs) for _ in range(3)]

    assert received == [(Frame.WORK, b"{}"), (Frame.ARGUMENTS, b"[]"), (Frame.CANCEL, b"")]


def test_a_frame_cut_short_is_the_end_not_a_value(pair: tuple[socket.socket, socket.socket]) -> None:
    """A worker that dies while it answers must not pass half an answer off as one."""
    ours, theirs = pair
    ours.sendall(b"\x08\x00\x00\x00\x00\x00\x00\x00\x05hal")
    ours.shutdown(socket.SHUT_WR)

    with pytest.raises(EOFError):
        receive(theirs)


def test_a_step_is_cancelled_when_its_owner_says_so(pair: tuple[socket.socket, socket.socket]) -> None:
    """Looking must not use the message up: a step may look as often as it likes."""
    ours, theirs = pair
    link = Link(theirs)
    before = link.cancelled
    send_at_once(ours, Frame.CANCEL)

    after = [link.cancelled, link.cancelled]

    assert (before, after) == (False, [True, True])


def test_a_step_without_owner_is_cancelled(pair: tuple[socket.socket, socket.socket]) -> None:
    """A step that outlives its owner for a moment should stop, not compute for nobody."""
    ours, theirs = pair
    ours.close()

    assert Link(theirs).cancelled
