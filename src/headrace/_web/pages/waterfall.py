"""Where each thing that a run did lies on the axis of time, in percent of the width.

Time is drawn as it passes, as long as that can be read. Where long waits would squeeze all work into nothing, they are drawn shorter, and
the cuts are marked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace._app.timeline import How, Span, Timeline, TimelineRow

_LONG = timedelta(seconds=30)
"""Shorter waits are never cut."""
_TOO_MUCH = 3
"""Waits are cut if together they are this many times as long as all the rest."""
_SHARE = 1.5
"""Cut waits take so much room together, measured by the rest."""
_LEAST = 0.35
"""Whatever happened can be seen."""
_MOST_TICKS = 6
_NICE = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)

Interval = tuple[datetime, datetime]


@dataclass(frozen=True, kw_only=True)
class Bar:
    how: How
    x: float
    width: float
    is_wait: bool
    goes_on: bool
    attempt: int
    length: timedelta
    error: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    row: TimelineRow
    bars: tuple[Bar, ...]
    began_after: timedelta
    length: timedelta
    label_x: float


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A wait that is drawn shorter than it was."""

    x: float
    width: float
    length: timedelta


@dataclass(frozen=True, kw_only=True)
class Tick:
    x: float
    after: timedelta


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    lanes: tuple[Lane, ...]
    cuts: tuple[Cut, ...]
    ticks: tuple[Tick, ...]
    length: timedelta


def draw(timeline: Timeline, now: datetime) -> Waterfall:
    began = min([timeline.run.created_at, *(row.started_at for row in timeline.rows)])
    if timeline.earlier is not None and timeline.rows:
        began = min(row.started_at for row in timeline.rows)
    ended = _end(timeline, now, began)
    scale = Scale(began, ended, _work(timeline.rows, ended))
    return Waterfall(
        lanes=tuple(_lane(row, scale, timeline.run.created_at) for row in timeline.rows),
        cuts=scale.cuts(),
        ticks=_ticks(scale),
        length=ended - began,
    )


def _end(timeline: Timeline, now: datetime, began: datetime) -> datetime:
    ends = [span.ended_at for row in timeline.rows for span in row.spans if span.ended_at is not None]
    goes_on = timeline.later is None
    if goes_on:
        ends.append(timeline.run.finished_at or now)
    return max([began, *ends])


def _work(rows: Iterable[TimelineRow], ended: datetime) -> list[Interval]:
    """When steps were at work, without overlaps."""
    spans = sorted((span.started_at, span.ended_at or ended) for row in rows for span in row.spans if not span.is_wait)
    merged: list[Interval] = []
    for began, end in spans:
        if merged and began <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((began, end))
    return merged


class Scale:
    """From moments to percent, straight between its corners."""

    def __init__(self, began: datetime, ended: datetime, work: Sequence[Interval]) -> None:
        self.began = began
        self.ended = ended
        self._moments = [began]
        self._places = [0.0]
        self._cuts: list[tuple[datetime, datetime]] = []
        gaps = _gaps(began, ended, work)
        limit = _limit([end - start for start, end in gaps], ended - began)
        for start, end in gaps:
            self._corner(start, start - self._moments[-1])
            self._corner(end, end - start if limit is None else min(end - start, limit))
            if limit is not None and end - start > limit:
                self._cuts.append((start, end))
        self._corner(ended, ended - self._moments[-1])
        self._whole = self._places[-1] or 1.0

    def _corner(self, moment: datetime, drawn: timedelta) -> None:
        self._moments.append(moment)
        self._places.append(self._places[-1] + drawn.total_seconds())

    def at(self, moment: datetime) -> float:
        """Percent of the width."""
        after = bisect_right(self._moments, moment)
        if after == 0:
            return 0.0
        if after == len(self._moments):
            return 100.0 * self._places[-1] / self._whole
        left, right = self._moments[after - 1], self._moments[after]
        share = (moment - left) / (right - left)
        place = self._places[after - 1] + share * (self._places[after] - self._places[after - 1])
        return 100.0 * place / self._whole

    def cuts(self) -> tuple[Cut, ...]:
        return tuple(
            Cut(x=round(self.at(start), 2), width=round(self.at(end) - self.at(start), 2), length=end - start)
            for start, end in self._cuts
        )


def _gaps(began: datetime, ended: datetime, work: Sequence[Interval]) -> list[Interval]:
    """The long stretches without any work."""
    edges = [began, *(edge for interval in work for edge in interval), ended]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(start, end) for start, end in pairs if end - start >= _LONG]


def _limit(gaps: Sequence[timedelta], whole: timedelta) -> timedelta | None:
    """How long a wait may be drawn at most, so that all waits together take their share; None: nothing is cut."""
    waits = sum(gaps, timedelta(0))
    rest = whole - waits
    if not rest or waits <= _TOO_MUCH * rest:
        return None
    left = rest * _SHARE
    for at, gap in enumerate(sorted(gaps)):
        share = left / (len(gaps) - at)
        if gap > share:
            return share
        left -= gap
    return None


def _lane(row: TimelineRow, scale: Scale, created_at: datetime) -> Lane:
    bars = tuple(_bar(span, scale) for span in row.spans)
    ended = row.ended_at or scale.ended
    return Lane(
        row=row,
        bars=bars,
        began_after=row.started_at - created_at,
        length=max(timedelta(0), ended - row.started_at),
        label_x=bars[-1].x + bars[-1].width,
    )


def _bar(span: Span, scale: Scale) -> Bar:
    ended = span.ended_at or scale.ended
    x = scale.at(span.started_at)
    width = max(_LEAST, scale.at(ended) - x)
    return Bar(
        how=span.how,
        x=round(min(x, 100 - width), 2),
        width=round(width, 2),
        is_wait=span.is_wait,
        goes_on=span.ended_at is None,
        attempt=span.attempt,
        length=max(timedelta(0), ended - span.started_at),
        error=span.error,
    )


def _ticks(scale: Scale) -> tuple[Tick, ...]:
    """Round times where the axis is straight; where something is cut, only the edges of the cuts have a meaning."""
    if scale.cuts():
        return ()
    seconds = (scale.ended - scale.began).total_seconds()
    step = _step(seconds)
    if not step:
        return ()
    return tuple(
        Tick(x=round(100 * step * at / seconds, 2), after=timedelta(seconds=step * at))
        for at in range(1, int(seconds / step) + 1)
        if step * at < seconds * 0.96
    )


def _step(seconds: float) -> float:
    if seconds <= 0:
        return 0
    for size in (*(nice / 1000 for nice in (1, 2, 5, 10, 20, 50, 100, 200, 500)), *_NICE):
        if seconds / size <= _MOST_TICKS:
            return size
    return seconds / _MOST_TICKS // 86_400 * 86_400
