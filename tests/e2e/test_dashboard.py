"""The dashboard in a real browser, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from headrace._access.model import Scope
from headrace._app.access import make_token
from headrace.testing import Harness
from tests.e2e.browser import LOOKS, Viewer, chromium, find_chromium, viewer
from tests.e2e.exhibition import exhibition, shown

# The browser's driver is a process of its own, whose start the loop waits for.
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.allow_blocking, pytest.mark.asyncio(loop_scope="module")]

PAGES = {
    "now": "/",
    "runs": "/runs",
    "runs filtered": "/runs?state=waiting&text=decision",
    "no runs": "/runs?text=nothing-is-called-so",
    "run": "/runs/order-38?row=3",
    "run waiting": "/runs/refund-21",
    "run failed": "/runs/order-39",
    "run blocked": "/runs/report-2026-11-17",
    "run stopped": "/runs/refund-12",
    "blocked": "/blocked",
    "blocked checked": "/blocked?check=all",
    "events": "/events",
    "events filtered": "/events?topic=search.%23&verdict=not",
    "events refused": "/events?where=data.price+%3D%3D%3D+3",
    "no events": "/events?topic=nothing",
    "event": "/events/call-15",
    "event not handled": "/events/moved-5",
    "history": "/history?subject=rare-15&job=search",
    "no history": "/history",
    "publish": "/publish?like=moved-1",
    "jobs": "/jobs",
    "jobs filtered": "/jobs?lifecycle=search&state=found",
    "job": "/jobs/search/rare-15",
    "job of two lives": "/jobs/search/rare-23",
    "subscriptions": "/subscriptions",
    "subscription": "/subscriptions/archive.calls",
    "subscription paused": "/subscriptions/archive.visits",
    "dead letters": "/deadletters",
    "dead letters settled": "/deadletters?state=handled",
    "dead letter": "/deadletters/1",
    "system": "/system",
    "try": "/try",
    "try a flow": "/try?flow=shop.place_order",
}


class Stage(NamedTuple):
    harness: Harness
    address: str
    browser: Browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    find_chromium()
    folder: Path = tmp_path_factory.mktemp("exhibition")
    async with exhibition(folder) as harness, shown(harness) as address, chromium() as browser:
        yield Stage(harness, address, browser)


@pytest_asyncio.fixture(loop_scope="module")
async def desk(stage: Stage) -> AsyncIterator[Viewer]:
    async with viewer(stage.browser, stage.address) as here:
        yield here
        assert here.problems == []


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
async def test_page_is_sound(stage: Stage, path: str, look: str) -> None:
    """No complaint of the browser, nothing from elsewhere, nothing outside of the window, nothing that a screen reader cannot tell."""
    async with viewer(stage.browser, stage.address, look, bypass_csp=True) as here:
        await here.go(path)

        width = await here.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0
        assert await here.page.evaluate(SHIFTS) < 0.01
        assert await violations(here) == []
        assert here.problems == []


SHIFTS = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => { for (const entry of list.getEntries()) sum += entry.value; }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 150);
})"""


async def violations(here: Viewer) -> list[str]:
    """What axe finds, as far as it is serious."""
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    await here.page.evaluate(axe)
    found: dict[str, Any] = await here.page.evaluate("axe.run()")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0].get('failureSummary', '')}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


async def test_problems_are_pages_too(stage: Stage) -> None:
    """404 in the same frame, in every look."""
    for look in LOOKS:
        async with viewer(stage.browser, stage.address, look, bypass_csp=True) as here:
            await here.go("/runs/nope")

            assert "there is no run 'nope'" in await here.text()
            assert await violations(here) == []
            assert [problem for problem in here.problems if "404" not in problem] == []


async def test_times_are_in_the_viewers_zone(desk: Viewer) -> None:
    """UTC is for the log; the hover has it."""
    await desk.go("/runs/order-38")

    created = desk.page.locator("time[data-clock]").last
    utc = (await created.get_attribute("title") or "").split()[1]

    assert await created.inner_text() == f"{int(utc[:2]) + 1:02}{utc[2:]}"
    assert "Europe/Berlin" in await desk.page.inner_text(".zone")


async def test_a_new_run_appears_by_itself(stage: Stage, desk: Viewer) -> None:
    """Without reloading: the page that was opened is still the same one."""
    await desk.go("/runs?text=stock-")
    await desk.page.evaluate("window.opened = true")

    await stage.harness.start(stage.harness.app.registry.flows["shop.take_stock"], "Z")

    await expect(desk.page.get_by_role("link", name="stock-Z")).to_be_visible()
    assert await desk.page.evaluate("window.opened") is True


async def test_times_do_not_flicker_when_a_page_asks_again(stage: Stage, desk: Viewer) -> None:
    """What is the same must stay the same: UTC for a moment would be another time."""
    await desk.go("/runs/order-39")
    await desk.page.evaluate(WATCH)

    await stage.harness.start(stage.harness.app.registry.flows["shop.take_stock"], "W")
    await desk.page.wait_for_timeout(1500)

    assert await desk.page.evaluate("window.refreshed") >= 1
    assert await desk.page.evaluate("window.changed") == []


WATCH = """() => {
  window.changed = [];
  window.refreshed = 0;
  document.addEventListener("htmx:after:swap", () => window.refreshed++);
  new MutationObserver(list => { for (const one of list) window.changed.push(one.target.parentNode?.outerHTML ?? one.target.nodeName); })
    .observe(document.querySelector(".facts"), {subtree: true, childList: true, characterData: true});
}"""


async def test_what_somebody_types_is_left_alone(stage: Stage, desk: Viewer) -> None:
    """A refresh that empties a form is worse than none."""
    await desk.go("/runs/refund-21")
    await desk.page.get_by_role("button", name="Send a message").click()
    await desk.page.get_by_label("Value, as JSON").fill('{"by": "Ada"')

    await stage.harness.start(stage.harness.app.registry.flows["shop.take_stock"], "Y")
    await desk.page.wait_for_timeout(1200)

    await expect(desk.page.get_by_label("Value, as JSON")).to_have_value('{"by": "Ada"')
    await expect(desk.page.get_by_label("Topic")).to_have_value("decision")


async def test_details_open_in_place_and_stay(stage: Stage, desk: Viewer) -> None:
    """The address changes too, so that it can be sent to a colleague."""
    await desk.go("/runs/order-38")
    await desk.page.evaluate("window.opened = true")

    await desk.page.get_by_role("link", name="charge").click()
    await expect(desk.page.locator(".opened").get_by_text("ServiceUnavailable").first).to_be_visible()
    await stage.harness.start(stage.harness.app.registry.flows["shop.take_stock"], "X")
    await desk.page.wait_for_timeout(1200)

    await expect(desk.page.locator(".opened").get_by_text("ServiceUnavailable").first).to_be_visible()
    assert "row=3" in desk.page.url
    assert await desk.page.evaluate("window.opened") is True


async def test_lists_are_searched_while_typing(desk: Viewer) -> None:
    """The address has the filter, and only what was filled in."""
    await desk.go("/runs")

    await desk.page.keyboard.press("/")
    await desk.page.keyboard.type("refund-2")

    await expect(desk.page.get_by_role("link", name="refund-21")).to_be_visible()
    await expect(desk.page.get_by_role("link", name="order-38")).to_have_count(0)
    assert desk.page.url.endswith("/runs?text=refund-2")


async def test_keys_lead_through_a_list(desk: Viewer) -> None:
    """Hands stay on the keyboard, and the place where one is can be seen."""
    await desk.go("/runs?text=stock-&flow=shop.take_stock")

    await desk.page.keyboard.press("j")
    first = await desk.page.evaluate("document.activeElement.textContent")
    await desk.page.keyboard.press("j")
    second = await desk.page.evaluate("document.activeElement.textContent")
    await desk.page.keyboard.press("k")
    back = await desk.page.evaluate("document.activeElement.textContent")
    await desk.page.keyboard.press("Enter")
    await desk.page.wait_for_load_state()

    assert first == back != second
    assert await desk.page.inner_text("h1") == first


async def test_the_first_tab_skips_the_navigation(desk: Viewer) -> None:
    """Who cannot use a mouse would have to pass it on every page."""
    await desk.go("/system")

    await desk.page.keyboard.press("Tab")
    await desk.page.keyboard.press("Enter")

    assert await desk.page.evaluate("document.activeElement.id") == "content"


async def test_cancelling_asks_first(stage: Stage, desk: Viewer) -> None:
    """One click too many must not end a run."""
    await desk.go("/runs/stock-A")

    await desk.page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = desk.page.get_by_role("dialog", name="Cancel this run?")
    await dialog.get_by_role("button", name="Back").click()
    await expect(dialog).to_be_hidden()
    assert (await stage.harness.app.get("stock-A")).is_open

    await desk.page.get_by_role("button", name="Cancel", exact=True).click()
    await dialog.get_by_label("By force").check()
    await dialog.get_by_role("button", name="Cancel the run").click()

    await expect(desk.page.locator(".status")).to_contain_text("cancelled")
    assert (await stage.harness.app.get("stock-A")).state == "cancelled"


async def test_a_message_reaches_its_run(desk: Viewer) -> None:
    """The topic is the one that the run waits for."""
    await desk.go("/runs/refund-30")

    await desk.page.get_by_role("button", name="Send a message").click()
    await desk.page.get_by_label("Value, as JSON").fill('{"by": "Ada", "approved": true}')
    await desk.page.get_by_role("button", name="Send", exact=True).click()

    await expect(desk.page.locator(".status")).to_contain_text("completed")
    await expect(desk.page.locator("main")).to_contain_text("paid by Ada")


async def test_a_run_is_started_from_a_form(desk: Viewer) -> None:
    """From the form to the run."""
    await desk.go("/try?flow=shop.refund")
    for name, text in (("number", "77"), ("amount", "12.5"), ("reason", "torn")):
        await desk.page.locator(f"#field-{name}").fill(text)
    await desk.page.get_by_role("button", name="Start").click()

    await expect(desk.page.get_by_role("heading", name="refund-77")).to_be_visible()
    await expect(desk.page.locator("main")).to_contain_text("torn")


async def test_an_event_is_published_after_a_look_at_what_it_does(stage: Stage, desk: Viewer) -> None:
    """From the form over the rehearsal to the event, and the list that was open shows it by itself."""
    async with viewer(stage.browser, stage.address) as watcher:
        await watcher.go("/events?topic=search.reminded")
        await watcher.page.evaluate("window.opened = true")
        await desk.go("/events")
        await desk.page.get_by_role("link", name="Publish an event").click()
        await desk.page.get_by_label("Topic").fill("search.reminded")
        await desk.page.get_by_label("Subject").fill("rare-35")
        await desk.page.get_by_label("Data, as JSON").fill('{"by": "Grace"}')
        await desk.page.get_by_role("button", name="See what it does").click()
        await expect(desk.page.locator(".rehearsal")).to_contain_text("stays offered")
        await desk.page.get_by_role("button", name="Publish").click()

        await expect(desk.page.get_by_role("status")).to_contain_text("Published.")
        await expect(watcher.page.locator("#live")).to_contain_text("Grace")
        assert await watcher.page.evaluate("window.opened") is True
        assert watcher.problems == []


async def test_events_are_filtered_while_typing(desk: Viewer) -> None:
    """The address has the filter; half an expression is a note, not an error page."""
    await desk.go("/events")

    await desk.page.get_by_label("Where").fill('data.street == "')
    await expect(desk.page.get_by_role("alert")).to_contain_text("cannot be read")
    await desk.page.get_by_label("Where").fill('data.street == "9 Wharf Road"')
    await expect(desk.page.get_by_role("link", name="customer-9", exact=True)).to_be_visible()

    await expect(desk.page.locator("main [data-row]")).to_have_count(1)
    assert "where=data.street" in desk.page.url
    desk.problems.clear()


async def test_a_dead_letter_is_redriven_and_its_page_follows(stage: Stage, desk: Viewer) -> None:
    """The result is what the person who pressed waits for."""
    await desk.go("/deadletters")
    await desk.page.get_by_role("link", name="ValueError").click()
    await desk.page.get_by_role("button", name="Redrive", exact=True).first.click()
    dialog = desk.page.get_by_role("dialog").and_(desk.page.locator(":popover-open"))
    await dialog.get_by_role("button", name="Redrive").click()

    await expect(desk.page.get_by_role("status")).to_contain_text("It is tried again.")
    await stage.harness.advance(timedelta(seconds=1))

    await expect(desk.page.get_by_role("status")).to_contain_text("It failed again.")
    await expect(desk.page.locator("main")).to_contain_text("2 attempts in all")


async def test_a_group_is_dismissed_after_a_question(desk: Viewer) -> None:
    """One click too many must not put all letters of an outage away."""
    await desk.go("/deadletters")
    dead = desk.page.get_by_role("link", name="Dead letters").locator(".badge")
    before = int(await dead.inner_text())

    await desk.page.get_by_role("button", name="Dismiss all").first.click()
    dialog = desk.page.get_by_role("dialog", name="Dismiss 7 letters?")
    await dialog.get_by_role("button", name="Back").click()
    await expect(dead).to_have_text(str(before))
    await desk.page.get_by_role("button", name="Dismiss all").first.click()
    await dialog.get_by_role("button", name="Dismiss").click()

    await expect(desk.page.get_by_role("status")).to_contain_text("7 letters are dismissed.")
    await expect(dead).to_have_text(str(before - 7))


async def test_a_subscription_is_paused_and_goes_on(desk: Viewer) -> None:
    """Each with a question, and the state beside its name."""
    await desk.go("/subscriptions/archive.letters")
    await desk.page.get_by_role("button", name="Pause", exact=True).click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    await expect(desk.page.locator(".status")).to_contain_text("paused")

    await desk.page.get_by_role("button", name="Resume", exact=True).click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    await expect(desk.page.locator(".status")).not_to_contain_text("paused")


async def test_a_replay_is_chosen_in_the_viewers_time(stage: Stage, desk: Viewer) -> None:
    """What was typed stays while the page follows the store, and the range is shown before anything is done."""
    await desk.go("/subscriptions/archive.letters")
    await desk.page.get_by_label("Recorded since").fill("2026-11-19T08:20:00")
    await desk.page.keyboard.press("Tab")
    await stage.harness.start(stage.harness.app.registry.flows["shop.take_stock"], "V")
    await desk.page.wait_for_timeout(1200)
    await desk.page.get_by_role("button", name="See which events").click()

    await expect(desk.page.locator(".rehearsal")).to_contain_text("6 events of its topics")
    await expect(desk.page.locator(".rehearsal")).to_contain_text("08:30:00")
    await desk.page.get_by_role("button", name="Replay them").click()

    await expect(desk.page.get_by_role("status")).to_contain_text("archive.letters~1 has begun")


async def test_a_job_is_begun_again(desk: Viewer) -> None:
    """The drawing follows: the way of the new generation, not that of the old one."""
    await desk.go("/jobs/search/rare-3")
    await desk.page.get_by_role("button", name="Retry").click()
    await desk.page.get_by_role("dialog").get_by_role("button", name="Begin again").click()

    await expect(desk.page.locator("h1")).to_contain_text("generation 2")
    await expect(desk.page.locator(".lifecycle .passed .topic").last).to_have_text("search.again (again)")


async def test_buttons_are_not_offered_to_who_may_only_look(stage: Stage) -> None:
    """A button that ends in a refusal is a trap."""
    made = await make_token(stage.harness.app.database, stage.harness.app.clock, name="looker", scope=Scope.READ)
    headers = {"Authorization": f"Bearer {made.token}"}
    async with viewer(stage.browser, stage.address, extra_http_headers=headers) as here:
        for path in (
            "/runs/refund-21",
            "/events",
            "/jobs/search/rare-15",
            "/subscriptions/archive.calls",
            "/deadletters",
        ):
            await here.go(path)
            assert await here.page.locator("main .actions button, main form[method=post]").count() == 0
        assert here.problems == []


async def test_the_theme_is_remembered(desk: Viewer) -> None:
    """Also over pages, and without a flash."""
    await desk.go("/")

    await desk.page.get_by_role("button", name="dark theme").click()
    await desk.go("/runs")

    assert await desk.page.get_attribute("html", "data-theme") == "dark"
    assert await desk.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 21)"


async def test_everything_works_without_script(stage: Stage) -> None:
    """Links and forms are enough; the script only makes it quicker."""
    async with viewer(stage.browser, stage.address, java_script_enabled=False) as here:
        await here.go("/runs")
        await here.page.get_by_label("Text").fill("refund-39")
        await here.page.get_by_role("button", name="Filter").click()
        await here.page.get_by_role("link", name="refund-39").click()
        await here.page.get_by_role("link", name="notify").click()
        assert "Arguments" in await here.text()
        await here.page.get_by_role("button", name="Cancel", exact=True).click()
        await here.page.get_by_role("button", name="Cancel the run").click()
        assert "refund-39" in await here.text("h1")
        await here.go("/events")
        await here.page.get_by_label("Topic").fill("customer.*")
        await here.page.get_by_role("button", name="Filter").click()
        await here.page.get_by_role("link", name="customer.moved").first.click()
        await here.page.get_by_role("link", name="Publish one like it").click()
        await here.page.get_by_role("button", name="See what it does").click()

        assert "archive.letters" in await here.text(".rehearsal")
        assert "Times are UTC" in await here.text(".zone")


async def test_the_menu_of_a_phone_opens(stage: Stage) -> None:
    """Behind a button, because there is no room beside the content."""
    async with viewer(stage.browser, stage.address, "phone") as here:
        await here.go("/")
        await here.page.get_by_role("button", name="Menu").click()
        await here.page.get_by_role("link", name="System").click()

        await expect(here.page.get_by_role("heading", name="System")).to_be_visible()


async def test_a_lost_connection_is_said(stage: Stage, desk: Viewer) -> None:
    """A page that stands still must not look live."""
    await desk.page.route("**/live/changes*", lambda route: route.abort())
    await desk.go("/")

    await expect(desk.page.locator(".wire")).to_contain_text("Not connected")
    desk.problems.clear()
