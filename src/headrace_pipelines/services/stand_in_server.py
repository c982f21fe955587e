"""What stand-ins of outside services share: a real HTTP server on this machine that notes what it is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_logger = logging.getLogger(__name__)

HEADER = "x-headrace-stand-in"
"""Every answer carries it, so that nobody takes a stand-in for the real service."""

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes


class StandInServer:
    """``async with`` starts it on a free port of this machine; it lives in the event loop of its caller."""

    def __init__(self, name: str, routes: Iterable[tuple[str, str, Handler]]) -> None:
        """``routes`` are method, path and what answers; paths may have Starlette's ``{parameters}``."""
        self.name = name
        self.asked: list[Asked] = []
        self._routes = [Route(path, self._noting(handler), methods=[method]) for method, path, handler in routes]
        self._server: _Server | None = None
        self._answering: set[asyncio.Task[Response]] = set()

    @property
    def url(self) -> str:
        if self._server is None:
            raise RuntimeError(f"the stand-in of {self.name} is not running: use `async with` around it")
        return f"http://127.0.0.1:{self._server.port}"

    async def __aenter__(self) -> Self:
        app = Starlette(routes=self._routes)
        server = _Server(
            uvicorn.Config(
                app,
                host="127.0.0.1",
                port=0,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                headers=[(HEADER, self.name)],
            )
        )
        await server.open()
        self._server = server
        values = {"service": self.name, "url": self.url}
        _logger.warning("stand_in.started", extra={"event": "stand_in.started", "values": values})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        # An answer that is being held back is for nobody any more.
        for task in self._answering:
            task.cancel()

    def _noting(self, handler: Handler) -> Handler:
        async def note(request: Request) -> Response:
            body = await request.body()
            self.asked.append(
                Asked(
                    method=request.method,
                    path=request.url.path,
                    query=dict(request.query_params),
                    headers=dict(request.headers),
                    body=body,
                )
            )
            return await self._answer(handler, request)

        return note

    async def _answer(self, handler: Handler, request: Request) -> Response:
        task = asyncio.ensure_future(handler(request))
        self._answering.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self._server is None:
                return Response("the stand-in is stopping", status_code=503)
            raise
        finally:
            self._answering.discard(task)


class _Server(uvicorn.Server):
    """uvicorn without its signals and without the tenths of a second in which it looks whether to stop."""

    @property
    def port(self) -> int:
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port

    async def open(self) -> None:
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup()
        await self.on_tick(0)

    def close(self) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
