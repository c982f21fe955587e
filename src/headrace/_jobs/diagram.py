"""A lifecycle as a drawing: each state is a line from top to bottom, each topic an arrow from one line to another.

So no two arrows cross a name, however many states an event may leave, and the drawing is read from the first row to the last.
"""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from typing import Any, NamedTuple

from headrace._jobs.lifecycle import Lifecycle

Way = Collection[tuple[str, str, str]]
"""Moves that a job has made: topic, state before, state after."""

_BOX, _ROW, _TOP, _MARGIN = 30, 30, 14, 10
_LETTER, _SMALL_LETTER = 7.6, 7.2
_LEAST, _GAP = 74, 14
_BEGIN = 26
_COLOURS = (
    "svg{background:#fff}text{font:13px sans-serif;fill:#1b2529}.topic{font:12px monospace;fill:#566167}.state rect{fill:#fff;stroke:#8b979d}"
    ".terminal rect{fill:#e7edf0}.current rect{fill:#0a6c8d;stroke:#0a6c8d}.current text{fill:#fff;font-weight:600}"
    ".life{stroke:#d5dcdf}.way{stroke:#8b979d;stroke-width:1.5}.tip,.from{fill:#8b979d}.begin{fill:#566167}"
    ".gone .way{stroke:#0a6c8d;stroke-width:2.5}.gone .tip,.gone .from{fill:#0a6c8d}.passed .topic{fill:#0a6c8d;font-weight:600}"
)


class _Row(NamedTuple):
    """One topic that leads to one state."""

    topic: str
    target: str
    sources: tuple[str, ...]
    opens: bool
    reopens: bool


def as_svg(lifecycle: Lifecycle[Any], *, state: str | None = None, way: Way = ()) -> str:
    """The lifecycle as SVG; colours come from the page through classes. ``state`` is marked as the current one, ``way`` as travelled."""
    rows = _rows(lifecycle)
    left = _MARGIN + max(len(_label(row)) for row in rows) * _SMALL_LETTER + _BEGIN + 8
    places = _places(lifecycle, left)
    width = max(x + size / 2 for x, size in places.values()) + _MARGIN
    height = _TOP + _BOX + _ROW * len(rows) + _MARGIN + 8
    lives = "".join(_life(x, height) for x, _ in places.values())
    heads = "".join(
        _head(name, x, size, lifecycle, current=name == state, passed=_is_passed(name, way))
        for name, (x, size) in places.items()
    )
    arrows = "".join(
        _arrows(row, _TOP + _BOX + _ROW * (at + 0.75), left, {name: x for name, (x, _) in places.items()}, way)
        for at, row in enumerate(rows)
    )
    title = f"lifecycle {lifecycle.name}" + (f", now {state}" if state else "")
    return (
        f'<svg class="lifecycle" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{escape(title)}">{lives}{heads}{arrows}</svg>'
    )


def as_svg_file(lifecycle: Lifecycle[Any], *, state: str | None = None) -> str:
    """The same with colours of its own, for a file that no page surrounds."""
    return as_svg(lifecycle, state=state).replace("<line", f"<style>{_COLOURS}</style><line", 1)


def _rows(lifecycle: Lifecycle[Any]) -> list[_Row]:
    """What opens jobs first, what begins them again last, and between them by how far the way has come."""
    order = {state: at for at, state in enumerate(lifecycle.states)}
    rows = [_Row(move.topic, move.target, move.sources, move.opens, move.reopens) for move in lifecycle.moves]
    return sorted(
        rows,
        key=lambda row: (
            not row.opens,
            row.reopens,
            row.target in lifecycle.terminal and len(row.sources) > 1,
            max((order[source] for source in row.sources), default=-1),
            order[row.target],
        ),
    )


def _places(lifecycle: Lifecycle[Any], left: float) -> dict[str, tuple[float, float]]:
    """The middle and the width of each state."""
    found, x = {}, left
    for state in lifecycle.states:
        size = max(_LEAST, len(state) * _LETTER + 22)
        found[state] = (round(x + size / 2, 1), round(size, 1))
        x += size + _GAP
    return found


def _is_passed(state: str, way: Way) -> bool:
    return any(state in (before, after) for _, before, after in way)


def _life(x: float, height: float) -> str:
    return f'<line class="life" x1="{x:g}" x2="{x:g}" y1="{_TOP + _BOX}" y2="{height - _MARGIN:g}"/>'


def _head(name: str, x: float, size: float, lifecycle: Lifecycle[Any], *, current: bool, passed: bool) -> str:
    kinds = ["state", "terminal" if name in lifecycle.terminal else "open", "current" if current else ""]
    kinds.append("visited" if passed else "")
    told = " ".join(kind for kind in kinds if kind)
    return (
        f'<g class="{told}"><rect x="{x - size / 2:g}" y="{_TOP}" width="{size:g}" height="{_BOX}" '
        f'rx="{_BOX / 2 if name in lifecycle.terminal else 7:g}"/>'
        f'<text x="{x:g}" y="{_TOP + 20}" text-anchor="middle">{escape(name)}</text></g>'
    )


def _arrows(row: _Row, y: float, left: float, xs: dict[str, float], way: Way) -> str:
    """One arrow from each source; those that were travelled lie on top."""
    starts = [("", left - _BEGIN)] if row.opens else [(source, xs[source]) for source in row.sources]
    gone = {before for topic, before, after in way if topic == row.topic and after == row.target}
    starts.sort(key=lambda start: start[0] in gone)
    drawn = [_arrow(source, x, xs[row.target], y, gone=source in gone) for source, x in starts]
    label = escape(_label(row))
    kind = "move passed" if gone else "move"
    return (
        f'<g class="{kind}"><title>{label}: {escape(_told(row))}</title>'
        f'<text class="topic" x="{_MARGIN}" y="{y + 4:g}">{label}</text>{"".join(drawn)}</g>'
    )


def _arrow(source: str, start: float, end: float, y: float, *, gone: bool) -> str:
    kind = "gone" if gone else "leg"
    if start == end:  # a state that is left for itself
        return f'<g class="{kind}"><circle class="from" cx="{start:g}" cy="{y:g}" r="4"/></g>'
    begin = "from" if source else "from begin"
    back = 9 if end > start else -9
    return (
        f'<g class="{kind}"><line class="way" x1="{start:g}" x2="{end - back:g}" y1="{y:g}" y2="{y:g}"/>'
        f'<circle class="{begin}" cx="{start:g}" cy="{y:g}" r="{3.5 if source else 5}"/>'
        f'<path class="tip" d="M{end:g} {y:g} l{-back:g} -5 v10 z"/></g>'
    )


def _label(row: _Row) -> str:
    return f"{row.topic} (again)" if row.reopens else row.topic


def _told(row: _Row) -> str:
    return f"begins as {row.target}" if row.opens else f"from {', '.join(row.sources)} to {row.target}"
