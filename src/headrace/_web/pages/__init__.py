"""The dashboard: a page is one function of a router, one template, and a question to the store.

To add one: write ``<page>.py`` with a router whose function answers ``await frame.show("<page>.html", question)``, write the template on
top of ``frame.html``, and name the module below and its place in ``navigation.py``.
"""

from __future__ import annotations

from contextlib import suppress

from fastapi import FastAPI

from headrace._app.app import Headrace
from headrace._web.pages import (
    actions,
    blocked,
    dead_letters,
    events,
    jobs,
    live,
    now,
    problems,
    publish,
    run,
    runs,
    static,
    subscriptions,
    system,
    theme,
    try_it,
)
from headrace._web.pages.frame import Studio, show_problem
from headrace._web.pages.guesthouse import guest_of, navigation_with, router_of
from headrace.settings import LoadedSettings

_PAGES = (
    now, runs, run, actions, blocked, events, publish, jobs, subscriptions, dead_letters, system, try_it, theme, live, static
)  # fmt: skip


def install(api: FastAPI, app: Headrace, *, settings: LoadedSettings | None = None) -> None:
    """Add the dashboard to the API: its pages, its files, and its way to show errors."""
    guests = [guest for pipeline in app.pipelines if (guest := guest_of(pipeline)) is not None]
    studio = api.state.studio = Studio(app, settings, navigation_with(guests))
    for page in _PAGES:
        api.include_router(page.router, include_in_schema=False)
    for guest in guests:
        api.include_router(router_of(guest), include_in_schema=False)
    problems.install(api)
    api.state.show_problem = show_problem  # for what the gate refuses before any page is reached
    with suppress(RuntimeError):  # who only wants to read the schema of the API has no event loop
        studio.pulse.begin()
