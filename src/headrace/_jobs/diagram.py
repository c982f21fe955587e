"""A lifecycle as a drawing: states in columns by their distance from the beginning, an arrow for each move."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import Any, NamedTuple

from headrace._jobs.lifecycle import Lifecycle, Move

_WIDTH, _HEIGHT = 150, 34
_COLUMN, _ROW = 300, 86
_MARGIN = 24


class _Box(NamedTuple):
    x: float
    y: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + _WIDTH / 2, self.y + _HEIGHT / 2


def as_svg(lifecycle: Lifecycle[Any], *, state: str | None = None) -> str:
    """The lifecycle as SVG; colours come from the page through classes, ``state`` is marked as the current one."""
    boxes = _places(lifecycle)
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    height = max(box.y for box in boxes.values()) + _HEIGHT + _MARGIN * 2
    arrows = "".join(_arrow(boxes[a], boxes[b], topics) for (a, b), topics in _edges(lifecycle).items())
    nodes = "".join(_node(name, box, lifecycle, current=name == state) for name, box in boxes.items())
    title = f"lifecycle {lifecycle.name}" + (f", now {state}" if state else "")
    return (
        f'<svg class="lifecycle" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{escape(title)}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>{arrows}{nodes}</svg>'
    )


def _places(lifecycle: Lifecycle[Any]) -> dict[str, _Box]:
    """Each state in the column of its shortest way from the beginning; terminal ones in the last."""
    columns: defaultdict[int, list[str]] = defaultdict(list)
    depth = _depths(lifecycle)
    last = max((depth[state] for state in lifecycle.states if state not in lifecycle.terminal), default=0) + 1
    for state in lifecycle.states:
        columns[last if state in lifecycle.terminal else depth[state]].append(state)
    tallest = max(len(states) for states in columns.values())
    return {
        state: _Box(_MARGIN + 40 + column * _COLUMN, _MARGIN + (row + (tallest - len(states)) / 2) * _ROW)
        for column, states in columns.items()
        for row, state in enumerate(states)
    }


def _depths(lifecycle: Lifecycle[Any]) -> dict[str, int]:
    found = {move.target: 0 for move in lifecycle.moves if move.opens}
    waiting = list(found)
    for state in waiting:
        for move in lifecycle.moves:
            if state in move.sources and not move.reopens and move.target not in found:
                found[move.target] = found[state] + 1
                waiting.append(move.target)
    return {state: found.get(state, 0) for state in lifecycle.states}


def _edges(lifecycle: Lifecycle[Any]) -> dict[tuple[str, str], list[str]]:
    edges: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for move in lifecycle.moves:
        for source in move.sources:
            edges[source, move.target].append(_label(move))
    return dict(edges)


def _label(move: Move) -> str:
    return f"{move.topic} (again)" if move.reopens else move.topic


def _arrow(start: _Box, end: _Box, topics: list[str]) -> str:
    (x1, y1), (x2, y2) = start.middle, end.middle
    label = escape(", ".join(topics))
    if end.x > start.x:
        x1, x2 = start.x + _WIDTH, end.x
        bend = f"M{x1:g} {y1:g} C{x1 + 60:g} {y1:g} {x2 - 60:g} {y2:g} {x2 - 2:g} {y2:g}"
        text_x, text_y = (x1 + x2) / 2, (y1 + y2) / 2 - 6
    elif end.x < start.x:
        y1, y2 = start.y + _HEIGHT, end.y + _HEIGHT
        low = max(y1, y2) + 34
        bend = f"M{x1:g} {y1:g} C{x1:g} {low:g} {x2:g} {low:g} {x2:g} {y2 + 2:g}"
        text_x, text_y = (x1 + x2) / 2, low - 4
    else:
        side = start.x - 8
        bend = f"M{start.x:g} {y1:g} C{side - 34:g} {y1:g} {side - 34:g} {y2:g} {end.x - 2:g} {y2:g}"
        text_x, text_y = side - 16, (y1 + y2) / 2
    return (
        f'<g class="move"><title>{label}</title><path class="way" d="{bend}" marker-end="url(#tip)"/>'
        f'<text class="topic" x="{text_x:g}" y="{text_y:g}" text-anchor="middle">{label}</text></g>'
    )


def _node(name: str, box: _Box, lifecycle: Lifecycle[Any], *, current: bool) -> str:
    opening = [move.topic for move in lifecycle.moves if move.opens and move.target == name]
    kinds = ["state", "terminal" if name in lifecycle.terminal else "open", "current" if current else ""]
    begin = ""
    if opening:
        y = box.middle[1]
        begin = (
            f'<g class="move"><title>{escape(", ".join(opening))}</title><circle class="begin" cx="{box.x - 34:g}" cy="{y:g}" r="5"/>'
            f'<path class="way" d="M{box.x - 29:g} {y:g} L{box.x - 2:g} {y:g}" marker-end="url(#tip)"/></g>'
        )
    x, y = box.middle
    return (
        f'{begin}<g class="{" ".join(kinds).strip()}"><rect x="{box.x:g}" y="{box.y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>'
        f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle">{escape(name)}</text></g>'
    )
