"""Takes the pictures of the dashboard in docs/images, of a store that is made in the same way each time."""

from __future__ import annotations

import asyncio
import io
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.browser import chromium, viewer  # noqa: E402 - the path had to be known first
from tests.e2e.exhibition import exhibition, shown  # noqa: E402
from tests.e2e.recordings import recordings  # noqa: E402
from tests.e2e.videotheque import HOME, Videotheque, videotheque  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PAGES = {
    "now": "/",
    "runs": "/runs",
    "run": "/runs/order-38?row=3",
    "waiting": "/runs/refund-21",
    "blocked": "/blocked",
    "events": "/events",
    "event": "/events/call-15",
    "history": "/history?subject=rare-15&job=search",
    "publish": "/publish?like=moved-1",
    "jobs": "/jobs",
    "job": "/jobs/search/rare-15",
    "subscriptions": "/subscriptions",
    "subscription": "/subscriptions/archive.calls",
    "deadletters": "/deadletters",
    "deadletter": "/deadletters/1",
    "system": "/system",
    "try": "/try?flow=shop.place_order&like=order-38",
    "problem": "/runs/order-99",
}
LOOKS = {"light": 1, "phone": 2}
COLOURS = 256
SEEN_AT = datetime(2026, 11, 19, 7, 30, tzinfo=UTC)
# A player draws itself when it knows how long its sound is.
PLAYERS = """Promise.all([...document.querySelectorAll("audio")].map(one => one.readyState || new Promise(known => one.onloadedmetadata = known)))
  .then(() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn))))"""


async def take_pictures() -> None:
    # Paths are seen on some pages, so the folder has a name that could be anybody's.
    folder = Path(tempfile.gettempdir()) / "headrace-demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    IMAGES.mkdir(exist_ok=True)
    async with chromium() as browser:
        async with exhibition(folder) as harness, shown(harness) as address:
            await _all(browser, address, PAGES)
        async with recordings(folder) as harness, shown(harness) as address:
            await _all(browser, address, {"pages": "/p/sounds/"})
        async with videotheque(folder, allowed=20) as place, shown(place.harness) as address:
            await _all(browser, address, _subtitles(place), prefix="subtitles", at=place.harness.app.now())
    shutil.rmtree(folder)


def _subtitles(place: Videotheque) -> dict[str, str]:
    sent, found = place.jobs["sent"], place.jobs["found"]
    pages = {"overview": "/", "request": f"/jobs/{found}", "library": "/library", "dead": "/dead"}
    return {name: HOME + path for name, path in (pages | {"preview": f"/jobs/{sent}/preview"}).items()}


async def _all(
    browser: Browser, address: str, pages: dict[str, str], *, prefix: str = "dashboard", at: datetime = SEEN_AT
) -> None:
    for look, scale in LOOKS.items():
        for name, path in pages.items():
            picture = await _picture(browser, address, look, scale, path, at)
            _keep(picture, IMAGES / f"{prefix}-{name}-{look}.png")


async def _picture(browser: Browser, address: str, look: str, scale: int, path: str, at: datetime) -> bytes:
    async with viewer(browser, address, look, device_scale_factor=scale) as here:
        await here.page.clock.set_fixed_time(at)
        await here.go(path)
        await here.page.evaluate("document.fonts.ready")
        await here.page.evaluate(PLAYERS)
        return await here.page.screenshot(animations="disabled")


def _keep(picture: bytes, file: Path) -> None:
    """Few colours are enough for a page, and take a quarter of the room."""
    reduced = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)
    print(f"{file.relative_to(ROOT)}  {file.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    asyncio.run(take_pictures())
