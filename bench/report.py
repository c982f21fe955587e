"""The table: figures of all systems side by side, with ratios, as Markdown."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from bench.figures import OURS, Figure
from bench.targets import TARGETS, Target

Json = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Report:
    date: str
    quick: bool
    seconds: float
    machine: Mapping[str, str]
    figures: list[Figure]
    missing: Mapping[str, str]
    """Measurements that failed, and how; an absent number must not look like one that nobody wanted."""

    def as_json(self) -> Json:
        return {
            "date": self.date,
            "quick": self.quick,
            "seconds": round(self.seconds, 1),
            "machine": dict(self.machine),
            "figures": [dataclasses.asdict(figure) for figure in self.figures],
            "missing": dict(self.missing),
        }

    def as_markdown(self) -> str:
        kind = "Short run (`--quick`)" if self.quick else "Full run"
        parts = [f"# Measured on {self.date}", f"{kind} of {self.seconds:,.0f} s.", self.body()]
        return "\n\n".join(parts) + "\n"

    def body(self) -> str:
        parts = [_machine(self.machine), _targets(self.figures), _figures(self.figures)]
        if self.missing:
            rows = [[name, reason] for name, reason in self.missing.items()]
            parts.append("Not measured:\n\n" + _table(["measurement", "why"], rows))
        return "\n\n".join(part for part in parts if part)


def _machine(machine: Mapping[str, str]) -> str:
    return _table(["machine", ""], [[name, text] for name, text in machine.items()])


def _targets(figures: list[Figure]) -> str:
    rows = [_target_row(target, measured) for target in TARGETS if (measured := target.measure(figures)) is not None]
    return _table(["target", "wanted", "measured", ""], rows) if rows else ""


def _target_row(target: Target, measured: float) -> list[str]:
    sign = "at least" if target.better == "more" else "at most"
    reached = "reached" if target.reached(measured) else "missed"
    return [
        target.what,
        f"{sign} {_number(target.wanted)} {target.unit}".strip(),
        f"{_number(measured)} {target.unit}".strip(),
        reached,
    ]


def _figures(figures: list[Figure]) -> str:
    rows: list[list[str]] = []
    for _, group in groupby(figures, key=lambda figure: (figure.what, figure.case)):
        rows += _group(list(group))
    return _table(
        ["what", "case", "system", "median", "lowest to highest", "samples", "Headrace is better by", "note"], rows
    )


def _group(group: list[Figure]) -> Iterable[list[str]]:
    ours = next((figure for figure in group if figure.system == OURS), None)
    for figure in group:
        spread = "" if figure.spread is None or figure.samples == 1 else " to ".join(map(_number, figure.spread))
        yield [
            figure.what,
            figure.case,
            figure.system,
            f"{_number(figure.value)} {figure.unit}",
            spread,
            str(figure.samples),
            "" if ours is None or figure is ours else f"{_number(ratio(ours, figure))} x",
            figure.note,
        ]


def ratio(ours: Figure, other: Figure) -> float:
    """How many times better ours is; below 1 it is worse."""
    return ours.value / other.value if ours.better == "more" else other.value / ours.value


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
