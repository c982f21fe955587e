"""A wire to a server that can be cut: between the client and the server stands a relay which loses what it is told to lose."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from dataclasses import dataclass, field
from typing import Literal

_SECONDS_BETWEEN_LOOKS = 0.02

Loss = Literal["request", "answer"]


@dataclass(eq=False)
class _Pair:
    client: socket.socket
    server: socket.socket
    losing_answer: bool = False

    def close(self, *, both: bool = True) -> None:
        for side in (self.client, self.server) if both else (self.client,):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()


@dataclass
class Wire:
    """Listens on a port of its own and carries everything to another one."""

    target: int
    port: int = 0
    _pairs: list[_Pair] = field(default_factory=list)
    _left_behind: list[_Pair] = field(default_factory=list)
    _to_lose: list[tuple[bytes, Loss]] = field(default_factory=list)
    _is_down: bool = False
    _stopped: bool = False

    def __enter__(self) -> Wire:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self.port = self._listening.getsockname()[1]
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._carry, name="wire", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._thread.join()
        self._listening.close()
        for pair in (*self._pairs, *self._left_behind):
            pair.close()

    def cut(self) -> None:
        """End what is connected now; new connections are carried."""
        with self._lock:
            for pair in self._pairs:
                pair.close()
            self._pairs.clear()

    def cut_unnoticed(self) -> None:
        """The client loses its connections, and the server does not know."""
        with self._lock:
            for pair in self._pairs:
                pair.close(both=False)
            self._left_behind += self._pairs
            self._pairs.clear()

    def go_down(self) -> None:
        """As if the server were away."""
        self._is_down = True
        self.cut()

    def come_up(self) -> None:
        """Carry everything again; what was to be lost and has not come by is forgotten."""
        self._to_lose.clear()
        self._is_down = False

    def lose(self, text: bytes, what: Loss) -> None:
        """Cut the connection that sends this next, before it arrives or when its answer is under way."""
        self._to_lose.append((text, what))

    def _carry(self) -> None:
        while not self._stopped:
            with selectors.DefaultSelector() as selector:
                with self._lock:
                    selector.register(self._listening, selectors.EVENT_READ)
                    for pair in self._pairs:
                        for side in (pair.client, pair.server):
                            selector.register(side, selectors.EVENT_READ, (pair, side))
                for key, _ in selector.select(_SECONDS_BETWEEN_LOOKS):
                    with self._lock:
                        self._look(key.data)

    def _look(self, found: tuple[_Pair, socket.socket] | None) -> None:
        if found is None:
            self._accept()
        elif found[0] in self._pairs:
            pair, side = found
            try:
                if self._pass_on(pair, side):
                    return
            except OSError:
                pass
            pair.close()
            self._pairs.remove(pair)

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        if self._is_down:
            client.close()
            return
        server = socket.create_connection(("127.0.0.1", self.target))
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pairs.append(_Pair(client, server))

    def _pass_on(self, pair: _Pair, side: socket.socket) -> bool:
        """False: this connection is over."""
        content = side.recv(65_536)
        if not content:
            return False
        if side is pair.server:
            if pair.losing_answer:
                return False
            pair.client.sendall(content)
            return True
        loss = self._loss_of(content)
        if loss == "request":
            return False
        pair.losing_answer = loss == "answer"
        pair.server.sendall(content)
        return True

    def _loss_of(self, content: bytes) -> Loss | None:
        for place, (text, what) in enumerate(self._to_lose):
            if text in content:
                del self._to_lose[place]
                return what
        return None
