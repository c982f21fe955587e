"""How much of a library has its subtitles, language by language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.languages import SAME_BY_DEFAULT, SameLanguages
from headrace_pipelines.subtitles.rules.library import VideoFile, serves


class Cover(StrEnum):
    PRESENT = "present"
    MACHINE = "machine"
    """There is one, and a machine made it."""
    WORKING = "working"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A subtitle that this pipeline wrote beside a video."""

    wanted: Wanted
    is_machine: bool
    is_newer: bool = False
    """Than what the last scan has seen, so that it may lie there though the scan does not know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A video of the library as it is now: what lies beside it, what was written, and what somebody works on."""

    video: VideoFile
    made: tuple[Made, ...] = ()
    asked: frozenset[Wanted] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    video: VideoFile
    covers: Mapping[Wanted, Cover]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One language of a library."""

    wanted: Wanted
    counts: Mapping[Cover, int]

    @property
    def videos(self) -> int:
        return sum(self.counts.values())

    def percent(self, cover: Cover) -> float:
        return 100 * self.counts[cover] / self.videos if self.videos else 0.0


def covered(
    titles: Iterable[Title], wanted: Sequence[Wanted], same: SameLanguages = SAME_BY_DEFAULT
) -> tuple[Covered, ...]:
    known: dict[object, Mapping[Wanted, Cover]] = {}
    found = []
    for title in titles:
        # Of thousands of videos most are alike in this, and each is judged once.
        alike = (title.video.subtitles, title.made, title.asked)
        covers = known.get(alike)
        if covers is None:
            covers = known[alike] = {one: _cover(title, one, same) for one in wanted}
        found.append(Covered(video=title.video, covers=covers))
    return tuple(found)


def _cover(title: Title, wanted: Wanted, same: SameLanguages) -> Cover:
    by_machine = [one.wanted for one in title.made if one.is_machine]
    by_people = [have for have in title.video.subtitles if have not in by_machine]
    by_people += [one.wanted for one in title.made if one.is_newer and not one.is_machine]
    if any(serves(have, wanted, same) for have in by_people):
        return Cover.PRESENT
    there = [
        one.wanted for one in title.made if one.is_machine and (one.is_newer or one.wanted in title.video.subtitles)
    ]
    if any(serves(have, wanted, same) for have in there):
        return Cover.MACHINE
    return Cover.WORKING if wanted in title.asked else Cover.MISSING


def shares(videos: Sequence[Covered], wanted: Sequence[Wanted]) -> tuple[Share, ...]:
    counted = {one: Counter(video.covers[one] for video in videos) for one in wanted}
    return tuple(Share(wanted=one, counts={cover: counted[one][cover] for cover in Cover}) for one in wanted)


def chosen(
    videos: Sequence[Covered], *, text: str = "", wanted: Wanted | None = None, cover: Cover | None = None
) -> tuple[Covered, ...]:
    """Those whose path has these words, and that are so in this language, or in any."""
    words = text.casefold().split()
    return tuple(video for video in videos if _fits(video, words, wanted, cover))


def _fits(video: Covered, words: Sequence[str], wanted: Wanted | None, cover: Cover | None) -> bool:
    if cover is not None:
        covers = video.covers.values() if wanted is None else [video.covers.get(wanted)]
        if cover not in covers:
            return False
    path = video.video.path.casefold() if words else ""
    return all(word in path for word in words)
