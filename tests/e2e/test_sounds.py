"""The example with pages of its own, in a real browser: what somebody drops is measured, shown and played."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.browser import Viewer, chromium, find_chromium, viewer
from tests.e2e.exhibition import shown
from tests.e2e.recordings import recordings, sound
from tests.e2e.test_dashboard import Stage, violations

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.allow_blocking, pytest.mark.asyncio(loop_scope="module")]

BOARD = "/p/sounds/"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    find_chromium()
    folder = tmp_path_factory.mktemp("sounds")
    async with recordings(folder) as harness, shown(harness) as address, chromium() as browser:
        yield Stage(harness, address, browser)


@pytest_asyncio.fixture(loop_scope="module")
async def desk(stage: Stage) -> AsyncIterator[Viewer]:
    async with viewer(stage.browser, stage.address) as here:
        yield here
        assert here.problems == []


async def add(here: Viewer, file: Path) -> None:
    await here.go(BOARD)
    await here.page.get_by_label("Drop WAV files here").set_input_files(file)
    await here.page.get_by_role("button", name="Add").click()
    await expect(here.page.locator(".sounds")).to_contain_text(file.name)


async def test_a_sound_is_added_measured_and_shown_by_itself(desk: Viewer, tmp_path: Path) -> None:
    """The run ends after the page is there; the event of its end brings the shape."""
    await add(desk, sound(tmp_path, "tone <b>&.wav"))

    await expect(desk.page.get_by_role("img", name="Loudness of tone <b>&.wav")).to_be_visible()
    assert await desk.page.locator(".shape rect").count() > 90


async def test_a_sound_plays_on_while_the_page_follows(stage: Stage, desk: Viewer, tmp_path: Path) -> None:
    """A refresh that stops a film each time something happens would make the page useless."""
    await add(desk, sound(tmp_path, "long.wav", seconds=20.0))
    player = desk.page.get_by_label("long.wav", exact=True)
    await player.evaluate("player => { player.muted = true; window.player = player; return player.play(); }")

    await stage.harness.publish("sound.added", {"name": "next.wav", "size": 1}, subject="next")
    await expect(desk.page.locator(".sounds")).to_contain_text("next.wav")

    assert await player.evaluate("player => player === window.player && !player.paused && player.currentTime < 20")


async def test_a_player_may_jump(desk: Viewer, tmp_path: Path) -> None:
    """Browsers ask for the part that somebody moves to."""
    await add(desk, sound(tmp_path, "jump.wav", seconds=30.0, pitch=220))
    player = desk.page.get_by_label("jump.wav", exact=True)

    await player.evaluate("player => { player.currentTime = 25; return new Promise(r => player.onseeked = r); }")

    assert await player.evaluate("player => [player.currentTime, Math.round(player.duration)]") == [25, 30]


async def test_a_dropped_file_is_sent_at_once(desk: Viewer, tmp_path: Path) -> None:
    """Dragging is how people bring files."""
    content = list(sound(tmp_path, "dropped.wav", pitch=330).read_bytes())
    await desk.go(BOARD)

    await desk.page.evaluate(DROP, content)

    await expect(desk.page.locator(".sounds")).to_contain_text("dropped.wav")


DROP = """content => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(content)], "dropped.wav", {type: "audio/wav"}));
  document.querySelector("form.drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


async def test_what_cannot_be_measured_says_why(desk: Viewer, tmp_path: Path) -> None:
    """A file that is no sound is the commonest mistake."""
    (tmp_path / "letter.wav").write_text("Dear Ada")
    await add(desk, tmp_path / "letter.wav")

    await expect(desk.page.locator(".sounds")).to_contain_text("It cannot be measured")


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
async def test_the_page_is_sound(stage: Stage, look: str) -> None:
    """The frame is the dashboard's, and so are its promises."""
    async with viewer(stage.browser, stage.address, look, bypass_csp=True) as here:
        await here.go(BOARD)

        assert await here.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert await violations(here) == []
        assert await here.page.locator("#places [aria-current]").text_content() == "Board"
        assert here.problems == []


async def test_it_works_without_script(stage: Stage, tmp_path: Path) -> None:
    """A form is a form."""
    async with viewer(stage.browser, stage.address, java_script_enabled=False) as here:
        await add(here, sound(tmp_path, "plain.wav", pitch=550))

        assert here.page.url.endswith(BOARD)
