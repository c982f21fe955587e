"""Steps and a flow that look through the library, and what watches it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from headrace import Tables, flow, now, publish, step, use
from headrace_pipelines.subtitles import files, library
from headrace_pipelines.subtitles.lifecycle import DETECTED, JOB_RETRIED, REQUESTED, SCANNER, Detected
from headrace_pipelines.subtitles.model import Order
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.rules.identity import fingerprint, job_of_order
from headrace_pipelines.subtitles.rules.library import Scan, Wish, missing, wishes
from headrace_pipelines.subtitles.rules.paths import url_of
from headrace_pipelines.subtitles.rules.releases import parse_release
from headrace_pipelines.subtitles.store import Store

if TYPE_CHECKING:
    from headrace import Headrace

_AT_ONCE = 50
"""So many wishes are told side by side; they share commits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a walk through the library came to."""

    videos: int
    new: int
    changed: int
    moved: int
    gone: int
    asked: int
    """Subtitles that were asked for."""
    unreadable: tuple[str, ...]


@flow
async def scan(requested_by: str) -> Scanned:
    """Look through the library and ask for what is missing; what is as it was costs a look."""
    return await look_through(requested_by)


@step(timeout=timedelta(hours=2))
async def look_through(requested_by: str) -> Scanned:
    """Whatever is asked for twice, because this died half way, is asked for once."""
    ports, store = use(Ports), Store(use(Tables))
    async with ports.scanning:
        before = await asyncio.to_thread(store.library)
        seen = await library.scan(ports.policy.roots, before)
        lacking = wishes(seen, ports.policy.wanted, ports.policy.same)
        lacking += await asyncio.to_thread(_removed, seen, lacking, store.written(), ports.policy)
        asked = 0
        for start in range(0, len(lacking), _AT_ONCE):
            some = lacking[start : start + _AT_ONCE]
            asked += sum(await asyncio.gather(*(_ask_when_written(wish, requested_by, ports.policy) for wish in some)))
        await store.keep_library(before, seen.index, now())
    return _summary(seen, asked)


def _removed(seen: Scan, lacking: tuple[Wish, ...], written: set[tuple[str, str]], policy: Policy) -> tuple[Wish, ...]:
    """What we wrote since the walk before, and somebody took away again: no walk has ever seen it."""
    known = {wish.video.path for wish in lacking}
    found = []
    for path, video in seen.index.items():
        gone = [
            wanted for wanted in missing(video, policy.wanted, policy.same) if (url_of(path), str(wanted)) in written
        ]
        if gone and path not in known:
            found.append(Wish(video=video, missing=tuple(gone)))
    return tuple(found)


def _summary(seen: Scan, asked: int) -> Scanned:
    return Scanned(
        videos=len(seen.index), new=len(seen.new), changed=len(seen.changed), moved=len(seen.moved), gone=len(seen.gone),
        asked=asked, unreadable=tuple(f"{one.path}: {one.reason}" for one in seen.unreadable),
    )  # fmt: skip


async def _ask_when_written(wish: Wish, requested_by: str, policy: Policy) -> int:
    """A file that is still being copied has no hash yet that anybody would know."""
    path = Path(wish.video.path)
    if await asyncio.to_thread(library.is_fresh, path):
        path_or_none = [path async for path in library.stable_files([path])]
        if not path_or_none:
            return 0  # it vanished
    try:
        video = await asyncio.to_thread(files.read_video, path, policy.roots)
    except files.FileGone:
        return 0
    await _tell(wish, fingerprint(video.moviehash, video.size), requested_by, policy)
    return len(wish.missing)


async def _tell(wish: Wish, known: str | None, requested_by: str, policy: Policy) -> None:
    url, title = url_of(wish.video.path), _title(wish.video.path)
    lacks = tuple(str(wanted) for wanted in wish.missing)
    detected = Detected(
        file_path=wish.video.path, video_title=title, video_url=url, languages=lacks, source=requested_by
    )
    await publish(DETECTED, detected, subject=wish.video.path, id=f"{url}/{known}/detected", source=SCANNER)
    for order in orders(policy, url, title, wish, requested_by):
        await _request(job_of_order(order, known), order)


async def _request(job: str, order: Order) -> None:
    """Open the job; one that had ended, though its subtitle is not there, begins again."""
    opened = await publish(REQUESTED, order, subject=job, id=f"{job}/1/requested", source=SCANNER)
    if opened.duplicate or not opened.applied:
        await publish(JOB_RETRIED, order, subject=job, id=f"{job}/{step.key}/again", source=SCANNER)


def orders(policy: Policy, url: str, title: str, wish: Wish, requested_by: str) -> list[Order]:
    return [
        Order(
            video_url=url, video_title=title, language=wanted.language, hearing_impaired=wanted.hearing_impaired,
            forced=wanted.forced, fallback=tuple(one for one in policy.fallback if one != wanted.language),
            translate=policy.translate, requested_by=requested_by,
        )
        for wanted in wish.missing
    ]  # fmt: skip


def _title(path: str) -> str:
    return parse_release(Path(path).name).title or Path(path).stem


async def watch_library(app: Headrace) -> None:
    """Begin a scan when something happens in the media folders, and from time to time, since some of it is never reported."""
    policy = use(Ports).policy
    if not policy.roots or not policy.watch:
        return
    async for hint in library.watch(policy.roots, scan_every=policy.scan_every):
        await app.run(scan, _why(hint.videos, hint.scan))


def _why(videos: Sequence[Path], due: library.Why | None) -> str:
    return "time" if due is library.Why.TIME else "watcher" if due is None or videos else "start"
