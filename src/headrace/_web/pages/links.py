"""Addresses of pages. Ids come from data, so whatever is in them is percent-encoded."""

from __future__ import annotations

from urllib.parse import quote, urlencode

# A browser takes these for steps up and down a path, percent-encoded or not.
_DOTS = {".", ".."}


def run_link(run_id: str, number: int | None = None) -> str:
    """The page of a run; without a number that of the newest one of this id."""
    if run_id in _DOTS:
        return f"/runs/{run_id}%23{number or 1}"
    address = f"/runs/{quote(run_id, safe='')}"
    return address if number is None else f"{address}?number={number}"


def event_link(event_id: str, position: int) -> str:
    """The page of an event; one whose id a browser would change is named by its position."""
    return f"/events/{position if event_id in _DOTS else quote(event_id, safe='')}"


def job_link(lifecycle: str, id: str) -> str:
    """The page of a job."""
    return (
        page_link("/jobs/of", lifecycle=lifecycle, id=id) if id in _DOTS else f"/jobs/{lifecycle}/{quote(id, safe='')}"
    )


def subject_link(subject: str, job: str = "") -> str:
    """The history of a subject."""
    return page_link("/history", subject=subject, job=job)


def page_link(path: str, **query: object) -> str:
    """A path with those parameters that say something."""
    told = {name: value for name, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(told)}" if told else path
