"""The pipeline's own tables: rows in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from headrace import Tables, Transaction, load_statements
from headrace_pipelines.subtitles.model import Candidate, Scored, Wanted
from headrace_pipelines.subtitles.rules.coverage import Made, Title
from headrace_pipelines.subtitles.rules.languages import parse_wanted
from headrace_pipelines.subtitles.rules.library import VideoFile
from headrace_pipelines.subtitles.rules.paths import url_of

SQL = load_statements("headrace_pipelines.subtitles")
_CANDIDATES = TypeAdapter(tuple[Candidate, ...])
_OFFERS = TypeAdapter(tuple[Scored, ...])
_TEXTS = TypeAdapter(tuple[str | None, ...])
_VIDEO = TypeAdapter(VideoFile)
_Values = dict[str, int | float | str | bytes | None]
_Rows = Sequence[tuple[Any, ...]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A subtitle file that this pipeline wrote."""

    path: str
    job: str
    video_url: str
    language: str
    """With its flags."""
    provider: str
    file_id: str
    machine: bool
    score: int
    sha256: str
    cues: int
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What was found for a job in one language."""

    attempt: int
    language: str
    offers: tuple[Scored, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a translation; None stands for a line for which nothing good enough came back."""

    texts: tuple[str | None, ...]
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far a translation is."""

    chunks: int
    done: int
    cached: int
    cues: int
    began_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """That somebody asked for a subtitle of a video, and the job that came of it."""

    job: str
    wanted: Wanted
    is_open: bool


class Store:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    # Downloads and searches

    def body(self, provider: str, file_id: str) -> tuple[bytes, str] | None:
        """What was downloaded before: the bytes, and the name that they had."""
        row = self._tables.read(lambda reader: reader.one(SQL.body, {"provider": provider, "file_id": file_id}))
        return None if row is None else (row[0], row[1])

    async def keep_body(self, provider: str, file_id: str, name: str, content: bytes, at: datetime) -> None:
        values: _Values = {"provider": provider, "file_id": file_id, "name": name, "content": content, "at": micros(at)}
        await self._tables.write(lambda tx: tx.run(SQL.keep_body, values))

    def search(self, key: str, now: datetime) -> tuple[Candidate, ...] | None:
        row = self._tables.read(lambda reader: reader.one(SQL.search, {"key": key, "now": micros(now)}))
        return None if row is None else _CANDIDATES.validate_json(row[0])

    async def keep_search(self, key: str, found: tuple[Candidate, ...], *, now: datetime, for_: timedelta) -> None:
        text = _CANDIDATES.dump_json(found).decode()

        def operation(tx: Transaction) -> None:
            tx.run(SQL.forget_searches, {"now": micros(now)})
            tx.run(SQL.keep_search, {"key": key, "found": text, "until": micros(now + for_)})

        await self._tables.write(operation)

    async def keep_offers(
        self, job: str, attempt: int, language: str, offers: tuple[Scored, ...], at: datetime
    ) -> None:
        values: _Values = {
            "job": job, "attempt": attempt, "language": language, "offers": _OFFERS.dump_json(offers).decode(), "at": micros(at),
        }  # fmt: skip
        await self._tables.write(lambda tx: tx.run(SQL.keep_offers, values))

    def offers_of(self, job: str) -> list[Offers]:
        rows = self._tables.read(lambda reader: reader.all(SQL.offers_of, {"job": job}))
        return [Offers(attempt=row[0], language=row[1], offers=_OFFERS.validate_json(row[2])) for row in rows]

    def denied(self) -> dict[tuple[str, str], str]:
        """Reasons by (provider, file)."""
        return {(row[0], row[1]): row[2] for row in self._tables.read(lambda reader: reader.all(SQL.denied))}

    async def deny(self, provider: str, file_id: str, reason: str, at: datetime) -> None:
        values: _Values = {"provider": provider, "file_id": file_id, "reason": reason, "at": micros(at)}
        await self._tables.write(lambda tx: tx.run(SQL.deny, values))

    # Files

    def file(self, path: str) -> Kept | None:
        row = self._tables.read(lambda reader: reader.one(SQL.file, {"path": path}))
        return None if row is None else _kept(row)

    def files_of(self, job: str) -> list[Kept]:
        return [_kept(row) for row in self._tables.read(lambda reader: reader.all(SQL.files_of, {"job": job}))]

    async def keep_file(self, kept: Kept, at: datetime) -> None:
        values: _Values = {
            "path": kept.path, "job": kept.job, "video_url": kept.video_url, "language": kept.language, "provider": kept.provider,
            "file_id": kept.file_id, "machine": int(kept.machine), "score": kept.score, "sha256": kept.sha256, "cues": kept.cues,
            "source": kept.source, "at": micros(at),
        }  # fmt: skip
        await self._tables.write(lambda tx: tx.run(SQL.keep_file, values))

    def written(self) -> set[tuple[str, str]]:
        """Of which videos, and in which languages with their flags, there was a file once."""
        return {(row[0], row[1]) for row in self._tables.read(lambda reader: reader.all(SQL.written))}

    # Translations

    def part(self, key: str) -> Part | None:
        row = self._tables.read(lambda reader: reader.one(SQL.chunk, {"key": key}))
        return None if row is None else _part(row)

    async def begin_translation(self, job: str, attempt: int, *, chunks: int, cues: int, at: datetime) -> None:
        values: _Values = {"job": job, "attempt": attempt, "chunks": chunks, "cues": cues, "at": micros(at)}
        await self._tables.write(lambda tx: tx.run(SQL.begin_translation, values))

    async def keep_part(self, key: str, part: Part, *, job: str, attempt: int, place: int, at: datetime) -> None:
        """Checkpoint and progress in one transaction."""
        values: _Values = {
            "key": key, "texts": _TEXTS.dump_json(part.texts).decode(), "model": part.model,
            "prompt_tokens": part.prompt_tokens, "completion_tokens": part.completion_tokens,
            "cost": part.cost, "at": micros(at),
        }  # fmt: skip

        def operation(tx: Transaction) -> None:
            tx.run(SQL.keep_chunk, values)
            tx.run(SQL.note_chunk, {"job": job, "attempt": attempt, "place": place, "key": key, "cached": 0})

        await self._tables.write(operation)

    async def reuse_part(self, key: str, *, job: str, attempt: int, place: int) -> None:
        values: _Values = {"job": job, "attempt": attempt, "place": place, "key": key, "cached": 1}
        await self._tables.write(lambda tx: tx.run(SQL.note_chunk, values))

    def translation(self, job: str, attempt: int) -> Extent | None:
        row = self._tables.read(lambda reader: reader.one(SQL.translation, {"job": job, "attempt": attempt}))
        if row is None:
            return None
        return Extent(chunks=row[0], done=row[1], cached=int(row[2]), cues=row[3], began_at=moment(row[4]))

    def parts_of(self, job: str, attempt: int) -> dict[int, Part]:
        """The parts of a translation that are done, by their place."""
        rows = self._tables.read(lambda reader: reader.all(SQL.parts_of, {"job": job, "attempt": attempt}))
        return {row[5]: _part(row) for row in rows}

    # Services

    def service(self, name: str) -> bytes | None:
        row = self._tables.read(lambda reader: reader.one(SQL.service, {"name": name}))
        return None if row is None else row[0]

    async def keep_service(self, name: str, state: bytes, at: datetime) -> None:
        values: _Values = {"name": name, "state": state, "at": micros(at)}
        await self._tables.write(lambda tx: tx.run(SQL.keep_service, values))

    # The library

    def library(self) -> dict[str, VideoFile]:
        """All videos as they were seen last, by path."""
        rows = self._tables.read(lambda reader: reader.all(SQL.media))
        videos = [_VIDEO.validate_json(row[0]) for row in rows]
        return {video.path: video for video in videos}

    async def keep_library(self, before: Mapping[str, VideoFile], after: Mapping[str, VideoFile], at: datetime) -> None:
        """Write what differs."""
        instant = micros(at)
        changed = [video for path, video in after.items() if before.get(path) != video]
        rows: Iterator[_Values] = (
            {"path": video.path, "facts": _VIDEO.dump_json(video).decode(), "at": instant} for video in changed
        )
        await self._tables.write_many(SQL.keep_media, rows)
        await self._tables.write_many(SQL.forget_media, ({"path": path} for path in before if path not in after))

    def titles(self) -> list[Title]:
        """The library as it is now, as far as that is known without looking: in the order of the paths."""
        return _titles(
            *self._tables.read(lambda reader: (reader.all(SQL.shelf), reader.all(SQL.made), reader.all(SQL.asked)))
        )

    def asked_for(self, video_url: str) -> list[Asked]:
        rows = self._tables.read(lambda reader: reader.all(SQL.asked_for, {"video_url": video_url}))
        return [Asked(job=row[0], wanted=parse_wanted(row[1]), is_open=bool(row[2])) for row in rows]

    def media_named(self, name: str) -> list[VideoFile]:
        rows = self._tables.read(lambda reader: reader.all(SQL.media_named, {"ending": f"/{name}"}))
        return [_VIDEO.validate_json(row[0]) for row in rows]

    # What the consumer has counted

    def counts(self) -> list[tuple[str, str, float]]:
        return [(row[0], row[1], row[2]) for row in self._tables.read(lambda reader: reader.all(SQL.counts))]


def count(tx: Transaction, counted: Iterable[tuple[str, str, float]]) -> None:
    """Add to counters, in the transaction that handles the event."""
    for name, labels, value in counted:
        tx.run(SQL.count, {"name": name, "labels": labels, "value": value})


def note_asked(tx: Transaction, job: str, video_url: str, wanted: Wanted) -> None:
    tx.run(SQL.note_asked, {"job": job, "video_url": video_url, "wanted": str(wanted)})


def mark_asked(tx: Transaction, job: str, *, is_open: bool) -> None:
    tx.run(SQL.mark_asked, {"job": job, "is_open": int(is_open)})


def _titles(videos: _Rows, files: _Rows, wishes: _Rows) -> list[Title]:
    shelf = [(*_read_video(facts), at) for facts, at in videos]
    seen_at = {url: at for _, url, at in shelf}
    made: dict[str, list[Made]] = {}
    for url, language, machine, at in files:
        if url in seen_at:
            one = Made(wanted=_wanted(language), is_machine=bool(machine), is_newer=at > seen_at[url])
            made.setdefault(url, []).append(one)
    asked: dict[str, set[Wanted]] = {}
    for url, wanted in wishes:
        asked.setdefault(url, set()).add(_wanted(wanted))
    return [
        Title(video=video, made=tuple(made.get(url, ())), asked=frozenset(asked.get(url, ())))
        for video, url, _ in shelf
    ]


# A library has thousands of videos, and from one look to the next hardly any is another.
@lru_cache(maxsize=20_000)
def _read_video(facts: str) -> tuple[VideoFile, str]:
    video = _VIDEO.validate_json(facts)
    return video, url_of(video.path)


@lru_cache(maxsize=1_000)
def _wanted(text: str) -> Wanted:
    return parse_wanted(text)


def _kept(row: tuple[Any, ...]) -> Kept:
    path, job, video_url, language, provider, file_id, machine, score, sha256, cues, source = row
    return Kept(
        path=path, job=job, video_url=video_url, language=language, provider=provider, file_id=file_id, machine=bool(machine),
        score=score, sha256=sha256, cues=cues, source=source,
    )  # fmt: skip


def _part(row: tuple[Any, ...]) -> Part:
    texts, model, prompt_tokens, completion_tokens, cost = row[:5]
    return Part(
        texts=_TEXTS.validate_json(texts), model=model, prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens, cost=cost,
    )  # fmt: skip


def micros(moment: datetime) -> int:
    return round((moment - _EPOCH) / timedelta(microseconds=1))


def moment(instant: int) -> datetime:
    return _EPOCH + timedelta(microseconds=instant)
