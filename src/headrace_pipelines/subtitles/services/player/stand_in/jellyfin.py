"""As much of Jellyfin as it takes to ask for a video and to report a file."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from headrace_pipelines.services.stand_in_server import StandInServer

TOKEN = "stand-in-token"

_Answers = Callable[[Request], Awaitable[Response]]


class LocalJellyfin(StandInServer):
    """Its token is ``stand-in-token``."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, JsonValue]] = {}
        self.reported: list[str] = []
        """Paths, as it was told them."""
        self.refreshed: list[str] = []
        """Items that it was told to look at again."""
        self._failures: deque[int] = deque()
        self._keeps_items_for_users = False
        self._takes_reports = True
        super().__init__(
            "Jellyfin",
            [
                ("GET", "/Items/{id}", self._guarded(self._item)),
                ("GET", "/Items", self._guarded(self._list)),
                ("POST", "/Library/Media/Updated", self._guarded(self._updated)),
                ("POST", "/Items/{id}/Refresh", self._guarded(self._refresh)),
            ],
        )

    # --- the story

    def has_film(self, id: str, path: str, name: str, *, year: int, **more: JsonValue) -> None:
        self.items[id] = {"Id": id, "Type": "Movie", "Name": name, "Path": path, "ProductionYear": year, **more}

    def has_episode(
        self, id: str, path: str, series: str, *, season: int, episode: int, name: str = "", **more: JsonValue
    ) -> None:
        self.items[id] = {
            "Id": id,
            "Type": "Episode",
            "Name": name,
            "Path": path,
            "SeriesName": series,
            "ParentIndexNumber": season,
            "IndexNumber": episode,
            **more,
        }

    def has_series(self, id: str, name: str) -> None:
        self.items[id] = {"Id": id, "Type": "Series", "Name": name}

    def fails(self, *, times: int = 1, status: int = 503) -> None:
        self._failures.extend([status] * times)

    def keeps_items_for_users(self) -> None:
        """As versions do that give single items to nobody without a user."""
        self._keeps_items_for_users = True

    def takes_no_reports(self) -> None:
        """As old versions do, and some that stand behind a proxy."""
        self._takes_reports = False

    # --- the interface

    def _guarded(self, handler: _Answers) -> _Answers:
        async def answer(request: Request) -> Response:
            if request.headers.get("authorization") != f'MediaBrowser Token="{TOKEN}"':
                return PlainTextResponse("", 401)
            if self._failures:
                return PlainTextResponse("out of order", self._failures.popleft())
            return await handler(request)

        return answer

    async def _item(self, request: Request) -> Response:
        if self._keeps_items_for_users:
            return PlainTextResponse("Error processing request.", 400)
        item = self.items.get(request.path_params["id"])
        return PlainTextResponse("", 404) if item is None else JSONResponse(_shown(item, request))

    async def _list(self, request: Request) -> Response:
        ids = request.query_params.get("ids", "").split(",")
        found = [_shown(self.items[id], request) for id in ids if id in self.items]
        return JSONResponse({"Items": found, "TotalRecordCount": len(found), "StartIndex": 0})

    async def _updated(self, request: Request) -> Response:
        if not self._takes_reports:
            return PlainTextResponse("", 404)
        updates = json.loads(await request.body())["Updates"]
        self.reported += [update["Path"] for update in updates]
        return Response(status_code=204)

    async def _refresh(self, request: Request) -> Response:
        if request.path_params["id"] not in self.items:
            return PlainTextResponse("", 404)
        self.refreshed.append(request.path_params["id"])
        return Response(status_code=204)


def _shown(item: dict[str, JsonValue], request: Request) -> dict[str, JsonValue]:
    """Some fields are given to those only who name them."""
    fields = request.query_params.get("fields", "").split(",")
    on_request = {"Path", "ProviderIds", "MediaStreams"}
    return {name: value for name, value in item.items() if name not in on_request or name in fields}
