"""What touches the outside: files, providers, models, players."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from headrace import Retry, Tables, now, step, use
from headrace.errors import ServiceRefused, ServiceUnavailable
from headrace_pipelines.services.language_model.port import QuotaUsedUp as ModelQuotaUsedUp
from headrace_pipelines.subtitles import files, translation
from headrace_pipelines.subtitles.desk import local_path
from headrace_pipelines.subtitles.errors import NoLanguageModel, TranslationIncomplete
from headrace_pipelines.subtitles.lifecycle import TranslationCompleted
from headrace_pipelines.subtitles.model import (
    Candidate,
    Cue,
    Document,
    Format,
    Media,
    Order,
    Scored,
    TranslationOrder,
    Wanted,
)
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.rules import checkpoints, formats, naming, repair
from headrace_pipelines.subtitles.rules.archives import ArchiveRefused, unpack
from headrace_pipelines.subtitles.rules.chunks import Chunk, divide
from headrace_pipelines.subtitles.rules.cues import refuse_unfit, without_adverts
from headrace_pipelines.subtitles.rules.cues import repair as mend
from headrace_pipelines.subtitles.rules.encoding import EncodingUnknown
from headrace_pipelines.subtitles.rules.moviehash import moviehash
from headrace_pipelines.subtitles.rules.prompts import Brief
from headrace_pipelines.subtitles.rules.releases import parse_release
from headrace_pipelines.subtitles.rules.rtl import apply_profile, strip_marks
from headrace_pipelines.subtitles.rules.scoring import ScoringPolicy, rank
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle
from headrace_pipelines.subtitles.rules.writing import is_right_to_left
from headrace_pipelines.subtitles.services.subtitle_provider.port import FileGone, QuotaUsedUp, SubtitleProvider
from headrace_pipelines.subtitles.store import Kept, Part, Store

_logger = logging.getLogger(__name__)

# Five further attempts; what services call permanent is not tried again at all.
PATIENT = Retry(attempts=6, first=2, factor=4, ceiling=timedelta(minutes=10), jitter=0.5, on=ServiceUnavailable)
WHEN_THERE_IS_SPACE = Retry(attempts=5, first=10, factor=4, ceiling=timedelta(minutes=10), on=files.DiskFull)
UNTIL_SOMEBODY_PAYS = timedelta(hours=6)
KEPT_TEXTS = "translation"
"""Instead of a provider's name: files that are translated, as they were when that began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A subtitle that lies beside the video already."""

    path: str
    wanted: Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    media: Media
    present: tuple[Present, ...] = ()
    """Those that are as good as one that is to be found: what a machine made, or somebody rejected, is not among them."""

    def path_of(self, wanted: Wanted) -> str | None:
        return next((item.path for item in self.present if item.wanted == wanted), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A service does not want to hear of us before ``until``."""

    kind: Literal["waiting"] = "waiting"
    service: str
    reason: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A subtitle that was downloaded and read; ``problem`` says why it is of no use."""

    kind: Literal["taken"] = "taken"
    provider: str
    file_id: str
    score: int
    machine_translated: bool = False
    problem: str = ""
    cues: int = 0
    encoding: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    path: str
    download_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A translation as it was begun; ``digest`` names the text that is translated."""

    digest: str
    model: str
    cues: int
    chunks: int
    at_once: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTranslation:
    placed: Placed
    flagged: tuple[int, ...]
    completed: TranslationCompleted


# The downloader's


@step(retry=PATIENT, timeout=timedelta(minutes=1))
async def look_at(order: Order) -> Looked:
    """Which video this is, and what lies beside it."""
    ports = use(Ports)
    path = local_path(order.video_url)
    if path is None:
        return Looked(media=await _look_at_web(order, ports))
    return await asyncio.to_thread(_look_at_file, path, order, ports.policy, Store(use(Tables)))


async def _look_at_web(order: Order, ports: Ports) -> Media:
    name = PurePosixPath(unquote(urlsplit(order.video_url).path)).name or order.video_title
    media = Media(url=order.video_url, name=name, release=parse_release(order.video_title), imdb_id=order.imdb_id)
    try:
        video = await ports.web.ends_of(order.video_url)
    except ServiceRefused:  # its title may still be enough
        return media
    return replace(media, size=video.size, moviehash=moviehash(video.size, video.head, video.tail))


def _look_at_file(path: Path, order: Order, policy: Policy, store: Store) -> Looked:
    video = files.read_video(path, policy.roots)
    media = Media(
        url=order.video_url, name=path.name, release=parse_release(_named(path, policy)), size=video.size, moviehash=video.moviehash,
        imdb_id=order.imdb_id,
    )  # fmt: skip
    beside = naming.subtitles_beside(path.name, files.names_in(path.parent, policy.roots))
    present = [
        Present(path=str(path.with_name(item.name)), wanted=item.wanted) for item in beside if item.wanted is not None
    ]
    denied = store.denied()
    return Looked(
        media=media, present=tuple(item for item in present if not _may_be_replaced(store, item.path, denied))
    )


def _named(path: Path, policy: Policy) -> str:
    """The path below its root: folders say what file names leave out."""
    root = next((root for root in policy.roots if path.is_relative_to(root)), path.parent)
    return str(path.relative_to(root))


def _may_be_replaced(store: Store, path: str, denied: Container[tuple[str, str]]) -> bool:
    """What a machine made, and what somebody has rejected since we wrote it."""
    kept = store.file(path)
    return kept is not None and (kept.machine or (kept.provider, kept.file_id) in denied)


@step(retry=PATIENT, timeout=timedelta(minutes=10))
async def search(
    job: str, attempt: int, media: Media, wanted: Wanted, sources: tuple[str, ...], *, fresh: bool = False
) -> list[Scored]:
    """What providers have in a language, the best first; why each stands there is kept."""
    ports, store = use(Ports), Store(use(Tables))
    found: list[Candidate] = []
    away: list[ServiceUnavailable] = []
    for provider in _in_order(ports, sources):
        try:
            found += await _asked(provider, store, ports.policy, media, wanted, fresh=fresh)
        except ServiceUnavailable as error:
            away.append(error)
            values = {"provider": provider.name, "reason": str(error)}
            _logger.warning("provider.away", extra={"event": "provider.away", "values": values})
    policy = replace(_scoring(ports.policy), denied=frozenset(store.denied()))
    offers = rank(found, media, wanted, policy)
    await store.keep_offers(job, attempt, str(wanted), offers, now())
    usable = [offer for offer in offers if not offer.rejected]
    if away and not usable:
        raise away[0]  # who did not answer may have had it
    return usable[: ports.policy.tries]


def _in_order(ports: Ports, sources: tuple[str, ...]) -> Iterable[SubtitleProvider]:
    preferred = [ports.providers[name] for name in sources if name in ports.providers]
    return [*preferred, *(item for name, item in ports.providers.items() if name not in sources)]


async def _asked(
    provider: SubtitleProvider, store: Store, policy: Policy, media: Media, wanted: Wanted, *, fresh: bool
) -> tuple[Candidate, ...]:
    key = _search_key(provider.name, media, wanted)
    known = None if fresh else store.search(key, now())
    if known is not None:
        return known
    found = await provider.search(media, wanted)
    await store.keep_search(key, found, now=now(), for_=policy.search_kept if found else policy.nothing_kept)
    return found


def _search_key(provider: str, media: Media, wanted: Wanted) -> str:
    of = media.release
    what = (media.moviehash, media.size, media.imdb_id, media.tmdb_id, of.title, of.year, of.season, of.episodes)
    return sha256(repr((provider, *what, str(wanted))).encode()).hexdigest()


def _scoring(policy: Policy) -> ScoringPolicy:
    return ScoringPolicy(
        least_for_movies=policy.least_movie, least_for_episodes=policy.least_episode, same_languages=policy.same
    )


@step(retry=PATIENT, timeout=timedelta(minutes=5))
async def take(media: Media, offer: Scored, wanted: Wanted) -> Taken | Waiting:
    """Download a subtitle, once for ever, and see whether it is one."""
    ports, store, candidate = use(Ports), Store(use(Tables)), offer.candidate
    body = store.body(candidate.provider, candidate.file_id)
    if body is None:
        try:
            fetched = await ports.providers[candidate.provider].fetch(candidate)
        except QuotaUsedUp as error:
            return Waiting(service=candidate.provider, reason=str(error), until=error.resets_at)
        except FileGone as error:
            return _useless(offer, str(error))
        body = fetched.content, fetched.file_name
        await store.keep_body(candidate.provider, candidate.file_id, body[1], body[0], now())
    try:
        document = await asyncio.to_thread(_read, body, media, wanted, ports.policy)
    except (NotASubtitle, ArchiveRefused, EncodingUnknown) as error:
        await store.deny(candidate.provider, candidate.file_id, str(error), now())
        return _useless(offer, str(error))
    return Taken(
        provider=candidate.provider, file_id=candidate.file_id, score=offer.score, machine_translated=candidate.machine_translated,
        cues=len(document.cues), encoding=document.encoding, warnings=document.warnings,
    )  # fmt: skip


def _useless(offer: Scored, problem: str) -> Taken:
    return Taken(provider=offer.candidate.provider, file_id=offer.candidate.file_id, score=offer.score, problem=problem)


def _read(body: tuple[bytes, str], media: Media, wanted: Wanted, policy: Policy) -> Document:
    member = unpack(body[0], name=body[1], release=media.release, language=wanted.language)
    document = mend(formats.read(member.data, language=wanted.language, name=member.name, fps=media.fps))
    refuse_unfit(
        document, size=len(member.data), language=wanted.language, duration=media.duration, forced=wanted.forced
    )
    return replace(document, cues=without_adverts(document.cues)) if policy.strip_adverts else document


@step(retry=WHEN_THERE_IS_SPACE, timeout=timedelta(minutes=5))
async def place(job: str, media: Media, taken: Taken, wanted: Wanted) -> Placed:
    """Write a subtitle beside its video, as UTF-8."""
    ports, store = use(Ports), Store(use(Tables))
    body = store.body(taken.provider, taken.file_id)
    assert body is not None
    document = await asyncio.to_thread(_read, body, media, wanted, ports.policy)
    origin = Kept(
        path="", job=job, video_url=media.url, language=str(wanted), provider=taken.provider, file_id=taken.file_id,
        machine=taken.machine_translated, score=taken.score, sha256="", cues=0,
    )  # fmt: skip
    return await _write(
        _target(media.url, media.name, wanted, job, ports.policy), wanted, document.cues, origin, ports.policy, store
    )


async def _write(
    target: _Target, wanted: Wanted, cues: tuple[Cue, ...], origin: Kept, policy: Policy, store: Store
) -> Placed:
    if is_right_to_left(wanted.language):
        cues = tuple(replace(cue, text=apply_profile(strip_marks(cue.text), policy.right_to_left)) for cue in cues)
    data = formats.to_bytes(formats.write(cues, Format.SRT), mark=policy.byte_order_mark)
    written = await asyncio.to_thread(_put, target, data, policy, store)
    await store.keep_file(replace(origin, path=written.path, sha256=written.sha256, cues=len(cues)), now())
    return Placed(path=written.path, download_url=_download_url(policy, origin.job, wanted))


class _Target(NamedTuple):
    path: Path
    roots: tuple[Path, ...]


def _target(url: str, name: str, wanted: Wanted, job: str, policy: Policy) -> _Target:
    """Beside the video, or, if that lies on no disk of ours, in the folder for such subtitles."""
    video = local_path(url)
    if video is not None:
        return _Target(video.with_name(naming.subtitle_name(video.name, wanted)), policy.roots)
    return _Target(policy.output / job / naming.subtitle_name(name, wanted), (policy.output,))


def _target_of(order: TranslationOrder, wanted: Wanted, job: str, policy: Policy) -> _Target:
    """Beside the video; for a file that was sent without one, beside that file."""
    if order.video_url:
        return _target(order.video_url, order.video_title or "video", wanted, job, policy)
    source = Path(order.subtitle_file_path)
    name = naming.subtitle_name(naming.without_language(source.name), wanted)
    return _Target(source.with_name(name), (*policy.roots, policy.output))


def _put(target: _Target, data: bytes, policy: Policy, store: Store) -> files.Placed:
    if target.path.is_relative_to(policy.output):
        files.make_folder(target.path.parent)
    known = store.file(str(target.path.resolve()))
    return files.place(
        target.path, data, roots=target.roots, known_sha256=None if known is None else known.sha256,
        overwrite=policy.overwrite,
    )  # fmt: skip


@step
async def download_url(job: str, wanted: Wanted) -> str:
    """Where the file of a job is to be had."""
    return _download_url(use(Ports).policy, job, wanted)


def _download_url(policy: Policy, job: str, wanted: Wanted) -> str:
    return f"{policy.public_url.rstrip('/')}/subtitles/{job}/file?language={wanted}"


@step(retry=PATIENT, timeout=timedelta(minutes=1))
async def tell_player(path: str) -> bool:
    """A subtitle that the player does not know of is one that nobody sees."""
    player = use(Ports).player
    if player is None:
        return False
    await player.refresh(Path(path))
    return True


# The translator's


@step(timeout=timedelta(minutes=2))
async def open_translation(job: str, attempt: int, order: TranslationOrder) -> Plan:
    """Read what is to be translated and divide it; from here on the file may change."""
    ports, store = use(Ports), Store(use(Tables))
    if ports.model is None:
        raise NoLanguageModel
    roots = (*ports.policy.roots, ports.policy.output)
    content = await asyncio.to_thread(files.read_whole, Path(order.subtitle_file_path), roots, largest=formats.LARGEST)
    digest = sha256(content).hexdigest()
    await store.keep_body(KEPT_TEXTS, digest, Path(order.subtitle_file_path).name, content, now())
    document, chunks = await asyncio.to_thread(_divided, store, digest, order)
    await store.begin_translation(job, attempt, chunks=len(chunks), cues=len(document.cues), at=now())
    return Plan(
        digest=digest, model=ports.model.name, cues=len(document.cues), chunks=len(chunks), at_once=ports.policy.at_once
    )


def _divided(store: Store, digest: str, order: TranslationOrder) -> tuple[Document, tuple[Chunk, ...]]:
    body = store.body(KEPT_TEXTS, digest)
    assert body is not None
    document = mend(formats.read(body[0], language=order.source_language, name=body[1]))
    cues = tuple(replace(cue, text=strip_marks(cue.text)) for cue in document.cues)
    return replace(document, cues=cues), divide(cues, target=order.target_language)


@step(retry=PATIENT, timeout=timedelta(minutes=30))
async def translate_chunk(job: str, attempt: int, order: TranslationOrder, digest: str, number: int) -> Waiting | None:
    """Have one part translated and keep it, unless it was translated before, for whomever."""
    ports, store = use(Ports), Store(use(Tables))
    if ports.model is None:
        raise NoLanguageModel
    document, chunks = await asyncio.to_thread(_divided, store, digest, order)
    chunk, brief = chunks[number], _brief(order, ports.policy)
    key = checkpoints.content_key(chunk, brief, model=ports.model.name)
    part = store.part(key)
    done = {} if part is None else checkpoints.accepted_in(checkpoints.Checkpoint(texts=part.texts), chunk)
    if len(done) == len(chunk.lines):
        await store.reuse_part(key, job=job, attempt=attempt, place=number)
        return None
    try:
        result = await translation.translate_chunk(
            [ports.model.complete], chunk, brief, done=done, known=_known_before(store, job, attempt, chunks, number),
            allowance=repair.allowed(len(document.cues)),
        )  # fmt: skip
    except ModelQuotaUsedUp as error:
        until = error.until or now() + UNTIL_SOMEBODY_PAYS
        return Waiting(service=ports.model.name, reason=str(error), until=until)
    fresh = Part(
        texts=checkpoints.checkpoint(chunk, result.accepted).texts, model=ports.model.name,
        prompt_tokens=result.usage.prompt_tokens, completion_tokens=result.usage.completion_tokens, cost=float(result.cost),
    )  # fmt: skip
    await store.keep_part(key, fresh, job=job, attempt=attempt, place=number, at=now())
    return None


def _brief(order: TranslationOrder, policy: Policy) -> Brief:
    release = parse_release(order.video_title) if order.video_title else None
    return Brief(
        source=order.source_language, target=order.target_language, title=release.title if release else "",
        year=release.year if release else None, synopsis=policy.context, glossary=policy.glossary,
    )  # fmt: skip


def _known_before(store: Store, job: str, attempt: int, chunks: tuple[Chunk, ...], number: int) -> dict[int, str]:
    """How the lines just before were translated, if they are."""
    before = store.parts_of(job, attempt).get(number - 1)
    if before is None:
        return {}
    return checkpoints.accepted_in(checkpoints.Checkpoint(texts=before.texts), chunks[number - 1])


@step(retry=WHEN_THERE_IS_SPACE, timeout=timedelta(minutes=5))
async def place_translation(job: str, attempt: int, order: TranslationOrder, digest: str) -> PlacedTranslation:
    """Put the parts together and write them beside the video; too many gaps are a failure."""
    ports, store = use(Ports), Store(use(Tables))
    document, chunks = await asyncio.to_thread(_divided, store, digest, order)
    parts = store.parts_of(job, attempt)
    texts = [text for number in range(len(chunks)) for text in parts[number].texts]
    flagged = tuple(number for number, text in enumerate(texts, 1) if text is None)
    if repair.verdict(len(texts), len(flagged)) is repair.Verdict.INCOMPLETE:
        raise TranslationIncomplete(len(flagged), len(texts))
    cues = tuple(
        replace(cue, text=cue.text if text is None else text) for cue, text in zip(document.cues, texts, strict=True)
    )
    wanted = Wanted(language=order.target_language, hearing_impaired=order.hearing_impaired, forced=order.forced)
    model = next((part.model for part in parts.values()), "")
    origin = Kept(
        path="", job=job, video_url=order.video_url, language=str(wanted), provider=model, file_id=digest, machine=True, score=50,
        sha256="", cues=0, source=order.subtitle_file_path,
    )  # fmt: skip
    placed = await _write(_target_of(order, wanted, job, ports.policy), wanted, cues, origin, ports.policy, store)
    return PlacedTranslation(
        placed=placed, flagged=flagged, completed=_completed(job, attempt, order, placed, parts.values(), store, model)
    )


def _completed(
    job: str, attempt: int, order: TranslationOrder, placed: Placed, parts: Iterable[Part], store: Store, model: str
) -> TranslationCompleted:
    extent, all_parts = store.translation(job, attempt), list(parts)
    assert extent is not None
    return TranslationCompleted(
        file_path=order.subtitle_file_path, translated_path=placed.path, source_language=order.source_language,
        target_language=order.target_language, duration_seconds=(now() - extent.began_at).total_seconds(), model=model,
        prompt_tokens=sum(part.prompt_tokens for part in all_parts), cost=float(sum(Decimal(str(part.cost)) for part in all_parts)),
        completion_tokens=sum(part.completion_tokens for part in all_parts), cached_chunks=extent.cached, chunks=extent.chunks,
    )  # fmt: skip
