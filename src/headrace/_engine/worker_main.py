"""The program of a worker process: it takes work from its owner, one step at a time, and dies when the owner does.

Runs as a script and loads nothing but the standard library until the guard is posted. The guard is a process of a few pages in the same
group; it waits for the owner's end of the channel to close and then kills the group. A thread here could not do that: a step may hold
the interpreter for minutes, and what a step has started (an encoder, say) must not outlive the owner either.
"""

from __future__ import annotations

import enum
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
from typing import Any, NoReturn

_HEAD = struct.Struct("!BQ")
_SMALL = 65_536
_SET_PARENT_DEATH_SIGNAL = 1


class Frame(enum.IntEnum):
    """What travels between owner and worker: one byte of kind, eight of length, then the body."""

    PREPARE = 1
    WORK = 2
    ARGUMENTS = 3
    PREVIOUS_PROGRESS = 4
    CANCEL = 5
    TAKEN = 6
    PROGRESS = 7
    RESULT = 8
    FAILURE = 9


def send(channel: socket.socket, kind: Frame, body: bytes = b"") -> None:
    head = _HEAD.pack(kind, len(body))
    if len(body) <= _SMALL:
        channel.sendall(head + body)
    else:
        channel.sendall(head)
        channel.sendall(body)


def send_at_once(channel: socket.socket, kind: Frame) -> None:
    """Send a frame without body and without ever waiting; for a channel whose other traffic is at rest."""
    channel.sendmsg([_HEAD.pack(kind, 0)], [], socket.MSG_DONTWAIT)


def receive(channel: socket.socket) -> tuple[Frame, bytes]:
    """The next frame; EOFError when the other side is gone."""
    kind, length = _HEAD.unpack(_receive_exactly(channel, _HEAD.size))
    return Frame(kind), _receive_exactly(channel, length)


def _receive_exactly(channel: socket.socket, length: int) -> bytes:
    # With MSG_WAITALL the kernel fills one object, so that large bodies are not copied again while the interpreter is held.
    received = channel.recv(length, socket.MSG_WAITALL) if length else b""
    if len(received) == length:
        return received
    parts = [received]
    missing = length - len(received)
    while missing:
        part = channel.recv(missing, socket.MSG_WAITALL)
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


class Link:
    """The worker's side of the channel, as the running step sees it."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._sending = threading.Lock()  # a step may report progress from threads of its own

    @property
    def cancelled(self) -> bool:
        """While a step runs, its owner says nothing but "stop", or is gone."""
        try:
            self.channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return True

    def report(self, progress: bytes) -> None:
        self.send(Frame.PROGRESS, progress)

    def send(self, kind: Frame, body: bytes = b"") -> None:
        with self._sending:
            send(self.channel, kind, body)


def _post_guard(channel: socket.socket) -> None:
    # Forked twice, so that it is no child of the step's: code that waits for all its children would wait for ever.
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        if os.fork() == 0:
            _stand_guard(channel)
    finally:
        os._exit(0)


def _stand_guard(channel: socket.socket) -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    watch = select.poll()
    watch.register(channel, 0)  # nothing but the hang-up, which is always told
    watch.poll()
    os.killpg(0, signal.SIGKILL)


def _die_with(owner: int) -> None:
    """A second net on Linux, should somebody have killed the guard."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != owner:
        os.killpg(0, signal.SIGKILL)


def _leave_it_to_the_owner(_number: int, _frame: object) -> None:
    """Service managers and terminals signal every process; only the owner knows whether the step shall stop.

    A function, since ignored signals would stay ignored in programs that the step starts.
    """


def _settle(channel: socket.socket) -> None:
    signal.signal(signal.SIGTERM, _leave_it_to_the_owner)
    signal.signal(signal.SIGINT, _leave_it_to_the_owner)

    def become_a_stranger() -> None:
        # A process forked by a step must neither answer in the worker's name nor be deaf to signals.
        channel.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    os.register_at_fork(after_in_child=become_a_stranger)
    if sys.stderr is not None:
        import faulthandler

        faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # What a step has printed must not be lost when a crash ends it.
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # TextIO lacks it; at this point it is the real one


def _prepare(channel: socket.socket) -> str | None:
    kind, body = receive(channel)
    assert kind is Frame.PREPARE, kind
    prepared: dict[str, Any] = json.loads(body)
    sys.path[:] = prepared["path"]
    sys.argv[:] = prepared["argv"]
    main_name: str | None = prepared["main_name"]
    return main_name


def _serve(link: Link, main_name: str | None) -> None:
    from headrace._engine.worker_step import perform

    while True:
        kind, body = receive(link.channel)
        if kind is Frame.CANCEL:
            continue  # it crossed the answer
        work: dict[str, Any] = json.loads(body)
        _, arguments = receive(link.channel)
        previous = receive(link.channel)[1] if work.pop("has_previous_progress") else None
        # From here on the death of this process is the step's.
        link.send(Frame.TAKEN)
        is_result, answer = perform(link, main_name=main_name, arguments=arguments, previous_progress=previous, **work)
        link.send(Frame.RESULT if is_result else Frame.FAILURE, answer)


def main() -> NoReturn:
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    if os.getpgrp() != os.getpid():
        sys.exit("a worker process is started by its owner, in a process group of its own")
    _post_guard(channel)
    _die_with(int(sys.argv[2]))
    _settle(channel)
    try:
        _serve(Link(channel), _prepare(channel))
    except (EOFError, ConnectionError):
        pass  # the owner has no more work
    sys.exit(0)


if __name__ == "__main__":
    main()
