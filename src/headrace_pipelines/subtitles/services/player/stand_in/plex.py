"""As much of Plex as it takes to ask for a video and to have a folder looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from headrace_pipelines.services.stand_in_server import StandInServer

TOKEN = "stand-in-token"

_Answers = Callable[[Request], Awaitable[Response]]


class LocalPlex(StandInServer):
    """Its token is ``stand-in-token``."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, JsonValue]] = {}
        self.scanned: list[tuple[str, str]] = []
        """Section and folder."""
        self._sections: dict[str, str] = {}
        super().__init__(
            "Plex",
            [
                ("GET", "/library/metadata/{id}", self._guarded(self._item)),
                ("GET", "/library/sections", self._guarded(self._list)),
                ("GET", "/library/sections/{key}/refresh", self._guarded(self._refresh)),
            ],
        )

    # --- the story

    def has_section(self, key: str, folder: str) -> None:
        self._sections[key] = folder

    def has_film(self, id: str, path: str, title: str, *, year: int, **more: JsonValue) -> None:
        part: dict[str, JsonValue] = {"file": path, "Stream": more.pop("Stream", [])}
        media: list[JsonValue] = [{"videoFrameRate": "24p", "Part": [part]}]
        self.items[id] = {"type": "movie", "title": title, "year": year, "Media": media, **more}

    # --- the interface

    def _guarded(self, handler: _Answers) -> _Answers:
        async def answer(request: Request) -> Response:
            if request.headers.get("x-plex-token") != TOKEN:
                return PlainTextResponse("Unauthorized", 401)
            if "application/json" not in request.headers.get("accept", ""):
                return PlainTextResponse("<MediaContainer/>", media_type="text/xml")
            return await handler(request)

        return answer

    async def _item(self, request: Request) -> Response:
        item = self.items.get(request.path_params["id"])
        if item is None:
            return PlainTextResponse("", 404)
        return JSONResponse({"MediaContainer": {"size": 1, "Metadata": [item]}})

    async def _list(self, request: Request) -> Response:
        directories = [{"key": key, "Location": [{"id": 1, "path": path}]} for key, path in self._sections.items()]
        return JSONResponse({"MediaContainer": {"size": len(directories), "Directory": directories}})

    async def _refresh(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key not in self._sections:
            return PlainTextResponse("", 404)
        self.scanned.append((key, request.query_params["path"]))
        return PlainTextResponse("")
