"""The library, as its users ask about it: what has its subtitles, what lacks them, and what the last scan came to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.ports import Ports
from headrace_pipelines.subtitles.rules.coverage import Cover, Covered, Share, chosen, covered, shares
from headrace_pipelines.subtitles.rules.paths import url_of
from headrace_pipelines.subtitles.scanning import Scanned, scan
from headrace_pipelines.subtitles.store import Asked, Store

if TYPE_CHECKING:
    from headrace import Headrace

ROWS = 50
_FLOW = f"subtitles.{scan.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A video on a page of the library."""

    name: str
    folder: str
    url: str
    covered: Covered
    others: tuple[Wanted, ...]
    """Subtitles that lie beside it though nobody asked for them."""
    asked: tuple[Asked, ...]

    def job(self, wanted: Wanted) -> str | None:
        return next((one.job for one in self.asked if one.wanted == wanted), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    videos: int
    """In all."""
    shares: tuple[Share, ...]
    found: int
    """Those that were asked about."""
    page: int
    pages: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastScan:
    run: str
    is_going_on: bool
    at: datetime
    took_until: datetime | None = None
    summary: Scanned | None = None
    problem: str = ""


async def library(
    app: Headrace, *, text: str = "", wanted: Wanted | None = None, cover: Cover | None = None, page: int = 1
) -> Library:
    """A page of the library in the order of its paths, and the counts of all of it."""
    return await asyncio.to_thread(_library, app, text, wanted, cover, page)


def _library(app: Headrace, text: str, wanted: Wanted | None, cover: Cover | None, page: int) -> Library:
    policy, store = app.use(Ports).policy, Store(app.tables)
    videos = covered(store.titles(), policy.wanted, policy.same)
    found = chosen(videos, text=text, wanted=wanted, cover=cover)
    pages = max(1, -(-len(found) // ROWS))
    page = min(max(1, page), pages)
    shown = found[(page - 1) * ROWS : page * ROWS]
    return Library(
        videos=len(videos), shares=shares(videos, policy.wanted), found=len(found), page=page, pages=pages,
        entries=tuple(_entry(video, store, policy.roots) for video in shown),
    )  # fmt: skip


def _entry(video: Covered, store: Store, roots: tuple[Path, ...]) -> Entry:
    path = Path(video.video.path)
    root = next((root for root in roots if path.is_relative_to(root)), path.parent)
    folder = str(path.parent.relative_to(root))
    url = url_of(str(path))
    return Entry(
        name=path.name, folder="" if folder == "." else folder, url=url, covered=video,
        others=tuple(have for have in video.video.subtitles if have not in video.covers),
        asked=tuple(store.asked_for(url)),
    )  # fmt: skip


async def last_scan(app: Headrace) -> LastScan | None:
    """The newest walk through the library; None if there was none."""
    runs = await app.runs(flow=_FLOW, count=1)
    if not runs:
        return None
    run = runs[0]
    if run.finished_at is None:
        return LastScan(run=run.id, is_going_on=True, at=run.created_at)
    try:
        summary: Scanned = await app.handle(run.id, run.number).result()
    except HeadraceError as error:
        return LastScan(
            run=run.id, is_going_on=False, at=run.created_at, took_until=run.finished_at, problem=str(error)
        )
    return LastScan(run=run.id, is_going_on=False, at=run.created_at, took_until=run.finished_at, summary=summary)
