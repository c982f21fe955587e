"""The dashboard: a page is one function of a router, one template, and a question to the store.

To add one: write ``<page>.py`` with a router whose function answers ``await frame.show("<page>.html", question)``, write the template on
top of ``frame.html``, and name the module below and its place in ``navigation.py``.
"""

from __future__ import annotations

from contextlib import suppress

from fastapi import FastAPI

from headrace._app.app import Headrace
from headrace._web.pages import actions, blocked, live, now, problems, run, runs, static, system, theme, try_it
from headrace._web.pages.frame import Studio, show_problem
from headrace.settings import LoadedSettings


def install(api: FastAPI, app: Headrace, *, settings: LoadedSettings | None = None) -> None:
    """Add the dashboard to the API: its pages, its files, and its way to show errors."""
    studio = api.state.studio = Studio(app, settings)
    for page in (now, runs, run, actions, blocked, system, try_it, theme, live, static):
        api.include_router(page.router, include_in_schema=False)
    problems.install(api)
    api.state.show_problem = show_problem  # for what the gate refuses before any page is reached
    with suppress(RuntimeError):  # who only wants to read the schema of the API has no event loop
        studio.pulse.begin()
