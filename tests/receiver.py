"""A web server on loopback that receives webhooks, and behaves as badly as a test asks."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_SECONDS = 30.0


@dataclass(frozen=True)
class Answer:
    """What is answered. ``huge``: so many bytes more; ``hangs``: nothing, until the receiver is closed; ``raw``: this and no HTTP."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    huge: int = 0
    hangs: bool = False
    raw: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes


class Receiver:
    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.usual = Answer()
        self.came: queue.Queue[Received] = queue.Queue()
        self.seen: list[Received] = []
        self.written = 0
        self.connections = 0
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks"

    def will(self, *answers: Answer) -> None:
        """Answer so, one after the other, then as usual."""
        self.answers.extend(answers)

    def next(self) -> Received:
        """What comes next; waits for it."""
        return self.came.get(timeout=_SECONDS)

    @contextmanager
    def open(self) -> Iterator[Receiver]:
        serving = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        serving.start()
        try:
            yield self
        finally:
            self.closing.set()
            self._server.shutdown()
            self._server.server_close()
            serving.join()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            receiver.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            came = Received(path=self.path, headers=headers, body=body)
            answer = receiver.answers.popleft() if receiver.answers else receiver.usual
            receiver.seen.append(came)
            receiver.came.put(came)
            with suppress(ConnectionError):
                self._answer(answer)

        def do_GET(self) -> None:
            receiver.seen.append(Received(path=f"GET {self.path}", headers={}, body=b""))
            self._answer(Answer(200))

        def _answer(self, answer: Answer) -> None:
            if answer.hangs:
                receiver.closing.wait(_SECONDS)
                self.close_connection = True
                return
            if answer.raw is not None:
                self.wfile.write(answer.raw)
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("content-length", str(len(answer.body) + answer.huge))
            self.end_headers()
            self.wfile.write(answer.body)
            while answer.huge and receiver.written < answer.huge:
                self.wfile.write(b"x" * 65_536)
                receiver.written += 65_536

        def log_message(self, *_: Any) -> None:
            """Tests say what they want to know."""

    return Handler
