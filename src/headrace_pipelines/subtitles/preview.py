"""What a job has come to, to be looked at: its subtitle, beside the one that it was translated from."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from headrace_pipelines.subtitles import desk, files
from headrace_pipelines.subtitles.lifecycle import Translated, subtitles
from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.rules import formats
from headrace_pipelines.subtitles.rules.cues import repair
from headrace_pipelines.subtitles.rules.encoding import EncodingUnknown
from headrace_pipelines.subtitles.rules.languages import parse_wanted
from headrace_pipelines.subtitles.rules.preview import Line, alone, side_by_side
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle
from headrace_pipelines.subtitles.steps import KEPT_TEXTS
from headrace_pipelines.subtitles.store import Kept, Store

if TYPE_CHECKING:
    from headrace import Headrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``original`` is the language of the left side; where nothing was translated, it is the only one."""

    name: str
    lines: tuple[Line, ...] = ()
    original: str = ""
    translation: str | None = None
    problem: str = ""
    """Why there is nothing to be seen."""

    @property
    def flagged(self) -> int:
        return sum(line.is_flagged for line in self.lines)


async def preview(app: Headrace, job: desk.SubtitleJob) -> Preview | None:
    """None: the job has no subtitle yet."""
    store = Store(app.tables)
    kept, path = desk.result_of(app, job), job.data.path
    if path is None:
        return None
    language = parse_wanted(kept.language).language if kept is not None else job.data.language or ""
    policy = app.use(Ports).policy
    try:
        if kept is None or kept.source is None:
            lines = await asyncio.to_thread(lambda: alone(_cues_in(Path(path), language, policy)))
            return Preview(name=Path(path).name, lines=lines, original=language)
        flagged = await _flagged(app, job)
        source = job.data.translation.source_language if job.data.translation is not None else ""
        pairs = await asyncio.to_thread(_pairs, kept, store, source, language, flagged, policy)
        return Preview(name=Path(path).name, lines=pairs, original=source, translation=language)
    except (files.FileError, NotASubtitle, EncodingUnknown) as error:
        return Preview(name=Path(path).name, problem=str(error))


async def _flagged(app: Headrace, job: desk.SubtitleJob) -> tuple[int, ...]:
    """The numbers of the cues that kept their text, in the newest translation."""
    told = [event.data for event in await app.job_history(subtitles, job.id) if event.applied]
    return next((data.flagged for data in reversed(told) if isinstance(data, Translated)), ())


def _pairs(
    kept: Kept, store: Store, source: str, language: str, flagged: Collection[int], policy: Policy
) -> tuple[Line, ...]:
    translation = _cues_in(Path(kept.path), language, policy)
    body = store.body(KEPT_TEXTS, kept.file_id)
    if body is None:
        return tuple(replace(line, original=None, translation=line.original) for line in alone(translation))
    return side_by_side(_cues(body[0], source, body[1]), translation, flagged)


def _cues_in(path: Path, language: str, policy: Policy) -> tuple[Cue, ...]:
    content = files.read_whole(path, (*policy.roots, policy.output), largest=formats.LARGEST)
    return _cues(content, language, path.name)


# Somebody who turns pages asks for the same file again and again.
@lru_cache(maxsize=16)
def _cues(content: bytes, language: str, name: str) -> tuple[Cue, ...]:
    return repair(formats.read(content, language=language or None, name=name)).cues
