"""The pages of the subtitles in a real browser, on stand-ins: asked, dropped, followed, compared."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.browser import LOOKS, Viewer, chromium, find_chromium, viewer
from tests.e2e.exhibition import shown
from tests.e2e.test_dashboard import violations
from tests.e2e.videotheque import HOME, Videotheque, subtitle, videotheque

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.allow_blocking, pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class Scene:
    place: Videotheque
    address: str
    browser: Browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    find_chromium()
    folder = tmp_path_factory.mktemp("videotheque")
    async with chromium() as browser, videotheque(folder) as place, shown(place.harness) as address:
        yield Scene(place, address, browser)


@pytest_asyncio.fixture(loop_scope="module")
async def here(scene: Scene) -> AsyncIterator[Viewer]:
    async with viewer(scene.browser, scene.address) as window:
        yield window
        assert window.problems == []


DROP = """([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(content)], name));
  document.querySelector(".ask").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


async def test_somebody_asks_and_watches_it_come(scene: Scene, here: Viewer) -> None:
    """Without reloading: the page of the request follows it to its end."""
    video = scene.place.root / "Films/Salt and Paper (2019)/Salt.and.Paper.2019.720p.WEB-DL.H264-INK.mkv"
    await here.go(f"{HOME}/")
    await here.page.get_by_label("Address").fill(video.as_uri())
    await here.page.get_by_label("Language").fill("French")
    await here.page.get_by_role("button", name="Ask for it").click()

    await expect(here.page.locator("h1")).to_contain_text("Salt and Paper")
    await expect(here.page.locator(".status")).to_contain_text("ready")
    await expect(here.page.locator(".tale")).to_contain_text("Subtitle is there")
    await expect(here.page.locator(".offers")).to_contain_text("taken")


async def test_a_dropped_subtitle_is_translated_and_compared(here: Viewer) -> None:
    """What a translator of a fansub does all evening."""
    await here.go(f"{HOME}/")
    await here.page.evaluate(DROP, ["Rain.2021.en.srt", list(subtitle(130))])
    await expect(here.page.get_by_label("It is in")).to_have_value("en")
    await here.page.get_by_label("Translate to").fill("he")
    await here.page.get_by_role("button", name="Translate", exact=True).click()

    await expect(here.page.locator(".status")).to_contain_text("ready")
    await here.page.get_by_role("link", name="All cues, side by side").click()
    cell = here.page.locator(".cues tbody tr").first.locator("td").nth(1)
    assert await cell.evaluate("cell => [cell.lang, getComputedStyle(cell).direction]") == ["he", "rtl"]
    await here.page.get_by_label("Words").fill("number 27")
    await expect(here.page.locator(".cues tbody tr")).to_have_count(2)  # 27 and 127


async def test_a_dropped_video_is_looked_for_and_not_sent(scene: Scene, here: Viewer) -> None:
    """A film has gigabytes; its name and size are enough to find it."""
    await here.go(f"{HOME}/")
    sent: list[str] = []
    here.page.on("request", lambda request: sent.append(request.method))
    video = next(scene.place.root.rglob("Copper.Moon*.mp4"))
    await here.page.evaluate(DROP, [video.name, list(video.read_bytes())])

    await expect(here.page.locator("form[data-for=video] [data-note]")).to_contain_text("lies in the library")
    assert (await here.page.get_by_label("Address").input_value()).endswith(".mp4")
    assert "POST" not in sent

    await here.page.evaluate(DROP, ["Elsewhere.2020.mkv", [1, 2, 3]])
    await expect(here.page.locator("form[data-for=video] [data-note]")).to_contain_text("by its name alone")


async def test_buttons_ask_before_they_act(scene: Scene, here: Viewer) -> None:
    """Taking the next one costs a download."""
    await here.go(f"{HOME}/jobs/{scene.place.jobs['missing']}")
    await here.page.get_by_role("button", name="Retry").click()
    dialog = here.page.get_by_role("dialog", name="Begin again?")
    await expect(dialog).to_be_visible()
    await dialog.get_by_role("button", name="Begin again").click()

    await expect(here.page.locator("h1")).to_contain_text("attempt 3")  # the scan has begun the second


async def test_a_bar_of_the_coverage_leads_to_its_videos(here: Viewer) -> None:
    """From how many are missing to which."""
    await here.go(f"{HOME}/library")
    await here.page.locator(".coverage a", has_text=re.compile("missing")).first.click()

    await expect(here.page.locator(".videos .row").first).to_be_visible()
    assert await here.page.locator(".cover-chip.missing").count() > 0
    await here.page.keyboard.press("j")
    assert await here.page.evaluate("document.activeElement.closest('.cover-chip') !== null")


@pytest.mark.parametrize("look", list(LOOKS))
async def test_every_page_is_sound(scene: Scene, look: str) -> None:
    """Light, dark and on a phone; for eyes and for screen readers."""
    jobs = [f"/jobs/{id}" for id in scene.place.jobs.values()]
    paths = ["/", "/?status=done", "/?text=nothing-is-so", "/library", "/library?cover=missing", "/dead", *jobs]
    paths.append(f"/jobs/{scene.place.jobs['sent']}/preview")
    async with viewer(scene.browser, scene.address, look, bypass_csp=True) as window:
        for path in paths:
            await window.go(HOME + path)

            assert await window.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
            assert await violations(window) == [], path
            assert window.problems == []


async def test_it_works_without_script(scene: Scene) -> None:
    """Forms are forms."""
    async with viewer(scene.browser, scene.address, java_script_enabled=False) as window:
        await window.go(f"{HOME}/")
        file = {"name": "Plain.en.srt", "mimeType": "text/plain", "buffer": subtitle(20)}
        await window.page.get_by_label("Subtitle file").set_input_files(file)  # type: ignore[arg-type]  # a payload is a dict
        await window.page.get_by_label("Translate to").fill("es")
        await window.page.get_by_role("button", name="Translate", exact=True).click()

        await expect(window.page.locator("h1")).to_contain_text("Plain")
