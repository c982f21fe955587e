from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace import Event
from headrace._events.filter import compile_filter
from headrace.errors import ValueRefused


@dataclass(frozen=True)
class Film:
    language: str
    years: tuple[int, ...] = ()

    def secret(self) -> str:
        return "called"


def event(data: Any) -> Event[Any]:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(
        id="e",
        topic="film.came",
        subject="f-1",
        data=data,
        source="x",
        time=now,
        position=1,
        sequence=1,
        recorded_at=now,
    )


@pytest.mark.parametrize(
    "text",
    [
        "data.language == 'he'",
        "data['language'] in ['he', 'en']",
        "data.years[0] > 1990 and not data.years[1] < 0",
        "1990 < data.years[0] <= 1999",
        "topic == 'film.came' and subject != 'f-2'",
        "data.missing != 1",
        "data.years[-1] == 2001",
        "data.language == 'xx' or sequence == 1",
        "not data.missing",
        "'he' not in [data.missing]",
    ],
)
@pytest.mark.parametrize(
    "data", [{"language": "he", "years": [1999, 2001]}, Film("he", (1999, 2001))], ids=["plain", "typed"]
)
def test_what_holds(text: str, data: object) -> None:
    """The same text for data as JSON and for data of a declared type."""
    assert compile_filter(text)(event(data))


@pytest.mark.parametrize(
    "text",
    [
        "data.missing == 1",
        "data.missing > 1",
        "data.language > 3",
        "data.years[9] == 1",
        "data.missing.deeper == 1",
        "data.language.upper == 1",
        "data.secret == 1",
        "data.__class__ == 1",
        "-data.language == 1",
        "False",
    ],
)
@pytest.mark.parametrize(
    "data", [{"language": "he", "years": [1999]}, Film("he", (1999,)), None], ids=["plain", "typed", "none"]
)
def test_what_is_not_there_does_not_hold(text: str, data: object) -> None:
    """Data differ from event to event; a filter over them must not fail on the one that lacks a field."""
    assert not compile_filter(text)(event(data))


@pytest.mark.parametrize(
    "text",
    ["", "data ==", "open('x')", "data.x()", "lambda: 1", "[x for x in data]", "dat.x", "1 + 1", "~data", "f'{data}'", "x := 1", "a" * 1001, "data is None", "(" * 300 + ")" * 300],
)  # fmt: skip
def test_what_is_no_filter_is_refused(text: str) -> None:
    """Filters come from people at a prompt, and over HTTP: they must not run code."""
    with pytest.raises(ValueRefused):
        compile_filter(text)
