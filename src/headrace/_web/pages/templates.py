"""The templates, and the words and shapes that they use."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from datetime import UTC, datetime, timedelta
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from headrace._base.wording import count, duration, size
from headrace._web.pages.links import event_link, job_link, page_link, run_link, subject_link
from headrace._web.pages.static import file_link

LONGEST_VALUE = 20_000
_SHORT = 80
# Keys, texts, numbers and the three words of JSON; what lies between them has no meaning of its own.
_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)'
)
# As the engine writes it: the id as Python would.
_RUN = re.compile(r"""run ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_CALM = timedelta(hours=18)


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("headrace._web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "amount": amount,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "duration": duration,
        "json": pretty_json,
        "line": short_json,
        "linked": linked_runs,
        "place": short_place,
        "prose": prose,
        "seconds": lambda seconds: duration(timedelta(seconds=seconds)),
        "size": size,
        "iso": lambda moment: moment.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "utc": lambda moment: f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC",
    }
    made.globals |= {
        "clock": clock_text,
        "count": count,
        "event_link": event_link,
        "file_link": file_link,
        "job_link": job_link,
        "page_link": page_link,
        "run_link": run_link,
        "subject_link": subject_link,
    }
    return made


def amount(number: int) -> str:
    """Groups of three, parted by a narrow space that does not break."""
    return f"{number:,}".replace(",", "\u202f")


def clock_text(moment: datetime, now: datetime) -> str:
    """The time of day of what is near, the date too of what is not; the script writes the same in the viewer's zone."""
    near = abs(now - moment) < _CALM
    return f"{moment.astimezone(UTC):{'%H:%M:%S' if near else '%d %b %H:%M'}}"


def short_place(location: str) -> str:
    """The file and the line; the flow, which stands beside it, tells the pipeline."""
    return location.rpartition("/")[2]


def linked_runs(reason: str) -> Markup:
    """The reason of a run, with links to the runs that it waits for."""
    parts: list[Markup] = []
    end = 0
    for found in _RUN.finditer(reason):
        run_id = literal_eval(found[1])
        parts += [
            escape(reason[end : found.start()]),
            Markup('run <a href="{}">{}</a>').format(run_link(run_id), run_id),
        ]
        end = found.end()
    return Markup("").join([*parts, escape(reason[end:])])


def short_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def prose(text: str) -> Markup:
    """A sentence in which `words` of the code are marked as in Markdown."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


def pretty_json(value: object) -> Markup:
    """A value over many lines, its parts marked for the style sheet; a very long one is cut, and says so."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    shown = text[:LONGEST_VALUE]
    parts: list[Markup] = []
    end = 0
    for token in _TOKEN.finditer(shown):
        parts += [
            escape(shown[end : token.start()]),
            Markup('<span class="j-{}">{}</span>').format(token.lastgroup, token[0]),
        ]
        end = token.end()
    parts.append(escape(shown[end:]))
    if len(text) > len(shown):
        parts.append(Markup('\n<span class="cut">… {} more characters</span>').format(amount(len(text) - len(shown))))
    return Markup("").join(parts)
