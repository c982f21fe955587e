"""Plex: it is told which folder to look at again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.alias_generators import to_camel

from headrace.errors import ServiceRefused, UnexpectedAnswer
from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage, parse_language
from headrace_pipelines.subtitles.rules.path_mapping import PathMapping
from headrace_pipelines.subtitles.rules.releases import imdb_number
from headrace_pipelines.subtitles.services.player.live.line import Line
from headrace_pipelines.subtitles.services.player.port import Item, ItemGone, Track, TrackKind

_STREAMS = {2: TrackKind.AUDIO, 3: TrackKind.SUBTITLE}
_KINDS = {"movie": Kind.MOVIE, "episode": Kind.EPISODE}
_RATES = {"PAL": 25.0, "NTSC": 29.97, "24p": 23.976}

_Shape = TypeVar("_Shape", bound="_Answer")


class Plex:
    def __init__(
        self,
        *,
        url: str,
        token: SecretStr,
        mapping: PathMapping | None = None,
        timeout: timedelta = timedelta(seconds=15),
    ) -> None:
        self.name = "plex"
        self._mapping = mapping or PathMapping()
        self._line = Line.to("Plex", url, token, {"x-plex-token": token.get_secret_value()}, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._line.client.aclose()

    async def item(self, item_id: str) -> Item:
        answer = await self._line.ask("GET", f"/library/metadata/{quote(item_id, safe='')}", also=(404,))
        found = self._read(answer, _Container).container.metadata if answer.is_success else []
        if not found:
            raise ItemGone(self.name, item_id)
        return self._item(item_id, found[0])

    def _item(self, item_id: str, found: _Metadata) -> Item:
        media = next(iter(found.media), _Media())
        file = next(iter(media.parts), _Part())
        kind = _KINDS.get(found.type)
        if kind is None or not file.file:
            raise ItemGone(self.name, item_id, f"it is a {found.type or 'thing'} without a file of its own")
        return Item(
            id=item_id,
            kind=kind,
            name=found.title,
            path=self._mapping.ours(file.file),
            year=found.year,
            series=found.grandparent_title,
            season=found.parent_index,
            episode=found.index if kind is Kind.EPISODE else None,
            imdb_id=imdb_number(found.id_at("imdb")),
            tmdb_id=_number(found.id_at("tmdb")),
            fps=_RATES.get(media.video_frame_rate),
            duration=timedelta(milliseconds=found.duration) if found.duration else None,
            tracks=tuple(track for stream in file.streams if (track := stream.track()) is not None),
        )

    async def refresh(self, path: str | PurePath, item_id: str | None = None) -> None:
        theirs = self._mapping.theirs(str(path))
        # Asked each time: sections come and go, and a subtitle is not added often.
        sections = self._read(await self._line.ask("GET", "/library/sections"), _Sections).container.directories
        key = _section_of(theirs, sections)
        if key is None:
            raise ServiceRefused(f"{self._line.server} has no library with {theirs!r}; look at the mapping of paths")
        folder = str(_kind_of_path(theirs)(theirs).parent)
        await self._line.ask("GET", f"/library/sections/{key}/refresh", query=[("path", folder)])

    def _read(self, answer: httpx2.Response, shape: type[_Shape]) -> _Shape:
        try:
            return shape.model_validate_json(answer.content)
        except ValidationError as error:
            raise UnexpectedAnswer(f"{self._line.server} answered {answer.text[:200]!r}") from error


def _section_of(path: str, sections: list[_Section]) -> str | None:
    there = _kind_of_path(path)(path)
    fitting = [
        (len(location.path), section.key)
        for section in sections
        for location in section.locations
        if there.is_relative_to(location.path)
    ]
    return max(fitting)[1] if fitting else None


def _kind_of_path(path: str) -> type[PurePosixPath] | type[PureWindowsPath]:
    return PureWindowsPath if "\\" in path and "/" not in path else PurePosixPath


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, alias_generator=to_camel)


class _Stream(_Answer):
    stream_type: int = 0
    language_tag: str | None = None
    language_code: str | None = None
    forced: bool | None = None
    hearing_impaired: bool | None = None
    key: str | None = None
    """Only what lies beside the video can be fetched by itself."""

    def track(self) -> Track | None:
        kind = _STREAMS.get(self.stream_type)
        if kind is None:
            return None
        return Track(
            kind=kind,
            language=_language(self.language_tag) or _language(self.language_code),
            forced=bool(self.forced),
            hearing_impaired=bool(self.hearing_impaired),
            external=kind is TrackKind.SUBTITLE and self.key is not None,
        )


def _language(code: str | None) -> str | None:
    try:
        return parse_language(code) if code else None
    except UnknownLanguage:
        return None


class _Part(_Answer):
    file: str = ""
    streams: list[_Stream] = Field(alias="Stream", default_factory=list)


class _Media(_Answer):
    video_frame_rate: str = ""
    parts: list[_Part] = Field(alias="Part", default_factory=list)


class _Guid(_Answer):
    id: str = ""


class _Metadata(_Answer):
    type: str = ""
    title: str = ""
    year: int | None = None
    grandparent_title: str = ""
    parent_index: int | None = None
    index: int | None = None
    duration: int | None = None
    guids: list[_Guid] = Field(alias="Guid", default_factory=list)
    media: list[_Media] = Field(alias="Media", default_factory=list)

    def id_at(self, site: str) -> str:
        """``imdb://tt0133093``"""
        return next((one.id.partition("://")[2] for one in self.guids if one.id.startswith(f"{site}://")), "")


class _Metadatas(_Answer):
    metadata: list[_Metadata] = Field(alias="Metadata", default_factory=list)


class _Container(_Answer):
    container: _Metadatas = Field(alias="MediaContainer")


class _Location(_Answer):
    path: str


class _Section(_Answer):
    key: str
    locations: list[_Location] = Field(alias="Location", default_factory=list)


class _Directories(_Answer):
    directories: list[_Section] = Field(alias="Directory", default_factory=list)


class _Sections(_Answer):
    container: _Directories = Field(alias="MediaContainer")
