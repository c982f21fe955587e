"""Headless Chromium, as a person's browser: the system's own, because Playwright's would have to be downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright

_NAMES = ("chromium", "chromium-headless-shell", "google-chrome")
# The background networking of a browser would ask hosts that tests must not know.
_OPTIONS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
]


def find_chromium() -> str:
    """Where Chromium is; without it a test is skipped on a laptop, and fails where all tests have to run."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is not None:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail("there is no Chromium; scripts/browser installs it")
    pytest.skip("there is no Chromium; scripts/browser installs it")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    # As root the sandbox cannot be had.
    options = [*_OPTIONS, "--no-sandbox"] if os.geteuid() == 0 else _OPTIONS
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=options)
        yield browser
        await browser.close()


LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "has_touch": True, "is_mobile": True},
}


@dataclass
class Viewer:
    """A browser window at one address, and what went wrong in it."""

    context: BrowserContext
    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def heard(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.problems.append(f"console: {said.text}")

    def asked(self, request: Request) -> None:
        if not request.url.startswith(self.address):
            self.problems.append(f"elsewhere: {request.url}")

    async def go(self, path: str) -> None:
        await self.page.goto(self.address + path, wait_until="load")

    async def text(self, selector: str = "main") -> str:
        return await self.page.inner_text(selector)


@asynccontextmanager
async def viewer(browser: Browser, address: str, look: str = "light", **more: Any) -> AsyncIterator[Viewer]:
    context = await browser.new_context(timezone_id="Europe/Berlin", locale="en-GB", **LOOKS[look], **more)
    page = await context.new_page()
    page.set_default_timeout(10_000)
    here = Viewer(context, page, address)
    page.on("console", here.heard)
    page.on("pageerror", lambda error: here.problems.append(f"script: {error}"))
    page.on("request", here.asked)
    try:
        yield here
    finally:
        await context.close()
