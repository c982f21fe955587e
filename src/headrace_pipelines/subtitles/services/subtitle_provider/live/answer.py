"""What OpenSubtitles answers, as values of ours; it leaves out, nulls and zeroes whatever it does not know."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from headrace.errors import UnexpectedAnswer
from headrace_pipelines.subtitles.model import Candidate, Kind, Media, Release
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage, from_opensubtitles
from headrace_pipelines.subtitles.rules.releases import parse_release
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Reply
from headrace_pipelines.subtitles.services.subtitle_provider.live.pause import moment

_logger = logging.getLogger(__name__)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class _User(_Part):
    allowed_downloads: int | None = None
    remaining_downloads: int | None = None


class Login(_Part):
    token: str
    base_url: str | None = None
    user: _User = _User()


class UserInfo(_Part):
    data: _User


class Download(_Part):
    link: str | None = None
    file_name: str | None = None
    remaining: int | None = None
    reset_time: str | None = None
    reset_time_utc: str | None = None
    message: str | None = None


class _File(_Part):
    file_id: int | None = None
    file_name: str | None = None


class _Feature(_Part):
    feature_type: str | None = None
    title: str | None = None
    year: int | None = None
    season_number: int | None = None
    episode_number: int | None = None
    parent_title: str | None = None
    imdb_id: int | None = None
    tmdb_id: int | None = None
    parent_imdb_id: int | None = None
    parent_tmdb_id: int | None = None


class _Attributes(_Part):
    language: str | None = None
    release: str | None = None
    download_count: int | None = None
    new_download_count: int | None = None
    hearing_impaired: bool | None = None
    foreign_parts_only: bool | None = None
    ai_translated: bool | None = None
    machine_translated: bool | None = None
    from_trusted: bool | None = None
    moviehash_match: bool | None = None
    fps: float | None = None
    ratings: float | None = None
    upload_date: str | None = None
    feature_details: _Feature | None = None
    files: list[_File] | None = None


class _Item(_Part):
    attributes: _Attributes


class Page(_Part):
    total_pages: int | None = None
    data: list[JsonValue]


def read_page(reply: Reply) -> Page:
    try:
        return Page.model_validate(reply.body)
    except ValidationError as error:
        raise UnexpectedAnswer(f"OpenSubtitles answered no list of subtitles: {reply.shown!r}") from error


def candidates(items: Iterable[JsonValue], media: Media, provider: str) -> list[Candidate]:
    """What can be downloaded among them; reading names takes milliseconds each, so this is for a thread."""
    read = [_item(item) for item in items]
    if read and not any(read):
        raise UnexpectedAnswer("OpenSubtitles answered a list in which nothing is a subtitle")
    return [found for item in read if item and (found := _candidate(item.attributes, media, provider)) is not None]


def _item(item: JsonValue) -> _Item | None:
    try:
        return _Item.model_validate(item)
    except ValidationError as error:
        values = {"reason": str(error.errors(include_url=False, include_input=False)[:2])}
        _logger.warning("provider.item_skipped", extra={"event": "provider.item_skipped", "values": values})
        return None


def _candidate(told: _Attributes, media: Media, provider: str) -> Candidate | None:
    files = [file for file in told.files or [] if file.file_id is not None]
    language = _language(told.language)
    if not files or language is None:
        return None
    feature = told.feature_details or _Feature()
    name = told.release or files[0].file_name or ""
    return Candidate(
        provider=provider,
        file_id=str(files[0].file_id),
        language=language,
        release=_release(name, feature),
        release_name=name,
        hash_matches=bool(media.moviehash and told.moviehash_match),
        imdb_id=_id(media.imdb_id, feature.imdb_id, feature.parent_imdb_id),
        tmdb_id=_id(media.tmdb_id, feature.tmdb_id, feature.parent_tmdb_id),
        hearing_impaired=bool(told.hearing_impaired),
        forced=bool(told.foreign_parts_only),
        machine_translated=bool(told.ai_translated or told.machine_translated),
        fps=told.fps or None,
        trusted=bool(told.from_trusted),
        downloads=max(told.download_count or 0, told.new_download_count or 0),
        rating=told.ratings or 0.0,
        uploaded_at=_moment(told.upload_date),
        parts=len(files),
    )


def _language(code: str | None) -> str | None:
    if not code:
        return None
    try:
        return from_opensubtitles(code)
    except UnknownLanguage:
        return None


def _moment(text: str | None) -> datetime | None:
    return moment(text) if text else None


def _id(ours: int | None, own: int | None, of_series: int | None) -> int | None:
    # An id of ours may be that of the series or that of the episode, and so is the one to compare it with.
    return of_series if ours is not None and of_series == ours else own or of_series or None


def _release(name: str, feature: _Feature) -> Release:
    """What the uploader wrote, set right by the film or episode under which it is filed."""
    kind = Kind.EPISODE if (feature.feature_type or "").lower() == "episode" else None
    kind = kind or (Kind.MOVIE if (feature.feature_type or "").lower() == "movie" else None)
    release = parse_release(name, kind)
    if kind is Kind.EPISODE:
        filed = replace(release, kind=kind, title=feature.parent_title or release.title)
        season = feature.season_number if feature.season_number is not None else release.season
        number = feature.episode_number
        # A file for two episodes is filed under one of them.
        episodes = release.episodes if number is None or number in release.episodes else (number,)
        return replace(filed, season=season, episodes=episodes)
    return replace(release, title=feature.title or release.title, year=feature.year or release.year)
