"""Jellyfin; Emby, of which it was made, answers the same questions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import PurePath
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.alias_generators import to_pascal

from headrace.errors import ServiceRefused, UnexpectedAnswer
from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage, parse_language
from headrace_pipelines.subtitles.rules.path_mapping import PathMapping
from headrace_pipelines.subtitles.rules.releases import imdb_number
from headrace_pipelines.subtitles.services.player.live.line import Line
from headrace_pipelines.subtitles.services.player.port import Item, ItemGone, Track, TrackKind

_FIELDS = "Path,ProviderIds,MediaStreams"
_TICKS = 10_000_000
_NOT_THAT_WAY = (400, 404, 405, 501)

_Shape = TypeVar("_Shape", bound="_Answer")


class Jellyfin:
    def __init__(
        self,
        *,
        url: str,
        token: SecretStr,
        mapping: PathMapping | None = None,
        timeout: timedelta = timedelta(seconds=15),
    ) -> None:
        self.name = "jellyfin"
        self._mapping = mapping or PathMapping()
        # Newer ones know the first header only, older ones and Emby the second.
        secret = token.get_secret_value()
        headers = {"authorization": f'MediaBrowser Token="{secret}"', "x-emby-token": secret}
        self._line = Line.to("Jellyfin", url, token, headers, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._line.client.aclose()

    async def item(self, item_id: str) -> Item:
        found = await self._found(item_id)
        kind = {"Movie": Kind.MOVIE, "Episode": Kind.EPISODE}.get(found.type)
        if kind is None or not found.path:
            raise ItemGone(self.name, item_id, f"it is a {found.type or 'thing'} without a file of its own")
        streams = found.media_streams or []
        return Item(
            id=found.id,
            kind=kind,
            name=found.name or "",
            path=self._mapping.ours(found.path),
            year=found.production_year,
            series=found.series_name or "",
            season=found.parent_index_number,
            episode=found.index_number if kind is Kind.EPISODE else None,
            imdb_id=imdb_number(found.provider_id("imdb")),
            tmdb_id=_number(found.provider_id("tmdb")),
            fps=next((stream.fps for stream in streams if stream.type == "Video" and stream.fps), None),
            duration=timedelta(seconds=found.run_time_ticks / _TICKS) if found.run_time_ticks else None,
            tracks=tuple(track for stream in streams if (track := stream.track()) is not None),
        )

    async def _found(self, item_id: str) -> _Item:
        place = f"/Items/{quote(item_id, safe='')}"
        answer = await self._line.ask("GET", place, query=[("fields", _FIELDS)], also=_NOT_THAT_WAY)
        if answer.is_success:
            return self._read(answer, _Item)
        # Some versions give single items to users only, and to a key lists of one.
        listed = await self._line.ask("GET", "/Items", query=[("ids", item_id), ("fields", _FIELDS)], also=(400, 404))
        items = self._read(listed, _Items).items if listed.is_success else []
        if not items:
            raise ItemGone(self.name, item_id)
        return items[0]

    def _read(self, answer: httpx2.Response, shape: type[_Shape]) -> _Shape:
        try:
            return shape.model_validate_json(answer.content)
        except ValidationError as error:
            raise UnexpectedAnswer(f"{self._line.server} answered no item: {answer.text[:200]!r}") from error

    async def refresh(self, path: str | PurePath, item_id: str | None = None) -> None:
        theirs = self._mapping.theirs(str(path))
        answer = await self._line.ask(
            "POST",
            "/Library/Media/Updated",
            body={"Updates": [{"Path": theirs, "UpdateType": "Created"}]},
            also=_NOT_THAT_WAY,
        )
        if answer.is_success:
            return
        if item_id is None:
            raise ServiceRefused(
                f"{self._line.server} answered {answer.status_code} to a report of {theirs!r}, and without the id of "
                "the item there is no other way; the subtitle shows after its next scan"
            )
        await self._line.ask("POST", f"/Items/{quote(item_id, safe='')}/Refresh", query=[("Recursive", "true")])


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=to_pascal)


class _Stream(_Answer):
    type: str = ""
    language: str | None = None
    is_forced: bool | None = None
    is_hearing_impaired: bool | None = None
    is_external: bool | None = None
    real_frame_rate: float | None = None
    average_frame_rate: float | None = None

    @property
    def fps(self) -> float | None:
        return self.real_frame_rate or self.average_frame_rate

    def track(self) -> Track | None:
        kind = {"Audio": TrackKind.AUDIO, "Subtitle": TrackKind.SUBTITLE}.get(self.type)
        if kind is None:
            return None
        return Track(
            kind=kind,
            language=_language(self.language),
            forced=bool(self.is_forced),
            hearing_impaired=bool(self.is_hearing_impaired),
            external=bool(self.is_external),
        )


def _language(code: str | None) -> str | None:
    try:
        return parse_language(code) if code else None
    except UnknownLanguage:
        return None


class _Item(_Answer):
    id: str
    type: str = ""
    name: str | None = None
    path: str | None = None
    production_year: int | None = None
    series_name: str | None = None
    parent_index_number: int | None = None
    index_number: int | None = None
    run_time_ticks: int | None = None
    provider_ids: dict[str, str | None] | None = None
    media_streams: list[_Stream] | None = None

    def provider_id(self, provider: str) -> str:
        """The case of their names has changed over the years."""
        ids = {name.lower(): value or "" for name, value in (self.provider_ids or {}).items()}
        return ids.get(provider, "")


class _Items(_Answer):
    items: list[_Item] = Field(default_factory=list)
