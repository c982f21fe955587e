"""The pages that users of the subtitles open every day, as a browser gets them."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from headrace.testing import visitor
from headrace_pipelines.subtitles.rules.formats import to_bytes, write
from headrace_pipelines.subtitles.rules.paths import url_of
from headrace_pipelines.subtitles.scanning import scan
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DEMO

from .conftest import Film, House

HOME = "/p/subtitles"


@pytest_asyncio.fixture
async def browser(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    async with visitor(house.harness.app) as client:
        yield client


async def see(browser: httpx2.AsyncClient, path: str, status: int = 200) -> str:
    """The text of a page: what stands between the tags."""
    answer = await browser.get(HOME + path)
    main = answer.text.partition('<main id="content" tabindex="-1">')[2]
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", main)))
    assert answer.status_code == status, text
    return text


async def ask(browser: httpx2.AsyncClient, house: House, number: int, language: str, **more: str) -> str:
    """Ask for a subtitle as the form does; gives the page of the job."""
    order = house.order(number, language)
    fields = {"url": order.video_url, "title": order.video_title, "language": language, "translate": "1"} | more
    answer = await browser.post(f"{HOME}/request", data=fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix(HOME)


async def test_a_request_is_made_and_followed(house: House, browser: httpx2.AsyncClient) -> None:
    """The whole of an ordinary evening: ask, look, download."""
    job = await ask(browser, house, 101, "he")
    waiting = await see(browser, "/")
    await house.harness.advance(timedelta(minutes=2))
    done, page = await see(browser, "/"), await see(browser, job)
    file = await browser.get(f"{HOME}{job}/file")

    assert "The Ninth Lighthouse" in waiting
    assert "from opensubtitles" in done
    assert "99 of 100 downloads used" not in done
    assert "1 of 100 downloads used, 99 left" in done
    assert "Subtitle is there" in page
    assert "taken" in page
    assert "attachment" in file.headers["content-disposition"]
    assert b"-->" in file.content


async def test_the_same_request_joins_the_first(house: House, browser: httpx2.AsyncClient) -> None:
    """Whoever asks twice is told so, and does not wait for a second download."""
    first = await ask(browser, house, 101, "he")
    second = await ask(browser, house, 101, "he")

    assert second == f"{first}?joined=1"
    assert "This had been asked for before" in await see(browser, second)


@pytest.mark.parametrize("typed, known", [("Hebrew", "he"), ("heb", "he"), (" pt_BR ", "pt-BR")])
async def test_languages_are_typed_as_people_write_them(
    house: House, browser: httpx2.AsyncClient, typed: str, known: str
) -> None:
    """The field takes any language, so it takes what people type."""
    job = await ask(browser, house, 110, typed)

    assert (await house.job(job.rpartition("/")[2])).data.wanted_language == known


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"url": "", "language": "he"}, "which video it is"),
        ({"url": "file:///nowhere/film.mkv", "language": "he"}, "media folders"),
        ({"url": "gopher://films", "language": "he"}, "no address of a video"),
        ({"url": "https://films.test/a.mkv", "language": "klingonese"}, "no code of a language"),
        ({"url": "https://films.test/a.mkv", "language": ""}, "which language"),
    ],
)
async def test_a_request_that_cannot_be_says_why(
    browser: httpx2.AsyncClient, fields: dict[str, str], said: str
) -> None:
    """A form is filled in by people."""
    answer = await browser.post(f"{HOME}/request", data=fields)

    assert answer.status_code == 422
    assert said in unescape(answer.text)


async def test_a_dropped_video_is_found_in_the_library_by_name_and_size(
    house: House, browser: httpx2.AsyncClient
) -> None:
    """Nobody uploads gigabytes to get a subtitle."""
    house.order(101, "he")
    await scanned(house)
    path = house.path(101)

    found = (await browser.get(f"{HOME}/find", params={"name": path.name, "size": path.stat().st_size})).json()
    other = (await browser.get(f"{HOME}/find", params={"name": path.name, "size": 5})).json()

    assert found == {"url": url_of(str(path)), "in_library": True, "title": "The Ninth Lighthouse"}
    assert other["in_library"] is False


async def test_a_video_that_is_elsewhere_is_searched_by_its_name(house: House, browser: httpx2.AsyncClient) -> None:
    """The subtitle of a film on somebody's own machine is offered for download."""
    name = house.path(101).name
    found = (await browser.get(f"{HOME}/find", params={"name": name, "size": 5})).json()

    answer = await browser.post(f"{HOME}/request", data={"url": found["url"], "language": "he", "translate": "1"})
    job = answer.headers["location"].removeprefix(HOME)
    await house.harness.advance(timedelta(minutes=2))

    assert "The Ninth Lighthouse" in await see(browser, job)
    assert (await browser.get(f"{HOME}{job}/file")).status_code == 200


async def upload(browser: httpx2.AsyncClient, name: str, content: bytes, **more: str) -> httpx2.Response:
    fields = {"source": "en", "target": "he"} | more
    return await browser.post(f"{HOME}/translate", data=fields, files={"file": (name, content)})


async def test_a_subtitle_that_is_sent_is_translated_and_shown_side_by_side(
    house: House, browser: httpx2.AsyncClient, film: Film
) -> None:
    """The preview is how somebody sees at one look whether a translation is any good."""
    answer = await upload(browser, "My.Film.2019.en.srt", to_bytes(write(film(150))))
    job = answer.headers["location"].removeprefix(HOME)
    await house.harness.advance(timedelta(minutes=20))
    page, all_cues = await see(browser, job), (await browser.get(f"{HOME}{job}/preview")).text
    second = await see(browser, f"{job}/preview?at=2")
    searched = await see(browser, f"{job}/preview?text=number+27")

    assert "My Film" in page
    assert "English original Hebrew translation" in page
    assert "150 cues" in page
    assert all_cues.count('lang="he" dir="auto"') == 100
    assert "page 2 of 2" in second
    assert "1 cue of 150" in searched


@pytest.mark.parametrize(
    "name, content, more, said",
    [
        ("film.mkv", b"\x1aE\xdf\xa3", {}, "is no subtitle file"),
        ("film.srt", b"<html>no</html>", {}, "film.srt: "),
        ("film.srt", b"", {}, "film.srt: "),
        ("film.srt", b"1\n00:00:01,000 --> 00:00:02,000\nHello\n", {"target": "en"}, "already"),
    ],
)
async def test_an_upload_that_is_of_no_use_is_refused(
    browser: httpx2.AsyncClient, name: str, content: bytes, more: dict[str, str], said: str
) -> None:
    """It is better to hear it now than from a job that fails."""
    answer = await upload(browser, name, content, **more)

    assert answer.status_code == 422
    assert said in unescape(answer.text)


async def test_an_upload_chooses_no_folder(
    house: House, browser: httpx2.AsyncClient, tmp_path: Path, film: Film
) -> None:
    """Its name is anybody's text."""
    await upload(browser, "../../../escaped.srt", to_bytes(write(film(20))))

    assert [path.name for path in tmp_path.rglob("escaped.srt")] == ["escaped.srt"]
    assert next(tmp_path.rglob("escaped.srt")).is_relative_to(house.ports.policy.output / "uploads")


async def test_what_kept_its_text_is_marked(house: House, browser: httpx2.AsyncClient, film: Film) -> None:
    """A reader must not have to find by eye what the model failed at."""
    house.model.says(3, "", times=None)
    answer = await upload(browser, "My.Film.2019.en.srt", to_bytes(write(film(150))))
    job = answer.headers["location"].removeprefix(HOME)
    await house.harness.advance(timedelta(minutes=20))

    flagged = await see(browser, f"{job}/preview?flagged=true")

    assert "1 kept as it was" in await see(browser, job)
    assert "1 cue of 150" in flagged
    assert "kept as it was" in flagged


async def test_bad_take_the_next(house: House, browser: httpx2.AsyncClient) -> None:
    """A subtitle that does not fit is never offered again."""
    job = await ask(browser, house, 101, "he")
    await house.harness.advance(timedelta(minutes=2))

    answer = await browser.post(f"{HOME}{job}/reject")
    await house.harness.advance(timedelta(minutes=2))

    assert answer.status_code == 303
    page = await see(browser, job)
    assert "attempt 2" in page
    assert "somebody marked it as bad" in page


async def test_cancel_and_retry(house: House, browser: httpx2.AsyncClient) -> None:
    """Both buttons, and what they say when it is too late."""
    job = await ask(browser, house, 101, "he")
    assert (await browser.post(f"{HOME}{job}/cancel")).status_code == 303
    await house.harness.advance(timedelta(minutes=1))
    assert "Cancelled" in await see(browser, job)
    assert (await browser.post(f"{HOME}{job}/cancel")).status_code == 409

    assert (await browser.post(f"{HOME}{job}/retry")).status_code == 303
    await house.harness.advance(timedelta(minutes=2))
    assert "from opensubtitles" in await see(browser, job)


async def test_a_job_that_nobody_knows(browser: httpx2.AsyncClient) -> None:
    """Links live longer than databases."""
    answer = await browser.get(f"{HOME}/jobs/00000000-0000-4000-8000-000000000000")

    assert answer.status_code == 404


async def test_a_job_without_a_subtitle_has_no_preview(house: House, browser: httpx2.AsyncClient) -> None:
    """Nor a download; both say how things stand."""
    job = await ask(browser, house, 110, "he")

    for path in ("/preview", "/file"):
        assert (await browser.get(f"{HOME}{job}{path}")).status_code == 409


async def scanned(house: House) -> None:
    for path in house.root.rglob("*.*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))  # nobody writes to it any more
    await house.harness.run(scan, "test")


async def test_the_library_shows_what_is_there_and_what_is_missing(house: House, browser: httpx2.AsyncClient) -> None:
    """Coverage by language is the reason to open the page."""
    for number in (101, 102, 110):
        house.order(number, "he")
    house.path(102).with_suffix(".he.srt").write_bytes(b"1\n00:00:01,000 --> 00:00:02,000\nshalom\n")
    await scanned(house)

    everything = await see(browser, "/library")
    missing = await see(browser, "/library?language=he&cover=missing")
    present = await see(browser, "/library?cover=present&language=he")

    assert "Scanned" in everything
    assert "3 videos, 3 new" in everything
    assert "1 there" in everything
    assert house.path(102).name in present
    assert house.path(102).name not in missing


async def test_a_scan_is_begun_from_the_page(house: House, browser: httpx2.AsyncClient) -> None:
    """The button of whoever has just copied a film."""
    assert "Nothing was scanned yet" in await see(browser, "/library")
    house.order(101, "he")

    assert (await browser.post(f"{HOME}/library/scan")).status_code == 303
    await house.harness.advance(timedelta(minutes=2))

    assert "1 video, 1 new" in await see(browser, "/library")


async def test_what_failed_waits_with_its_cause(house: House, browser: httpx2.AsyncClient, film: Film) -> None:
    """And is begun again from there, all of one cause at once."""
    object.__setattr__(house.ports, "model", None)
    sent = [await upload(browser, f"{name}.srt", to_bytes(write(film(20)))) for name in ("Alpha.2001", "Beta.2002")]
    await house.harness.advance(timedelta(minutes=2))
    dead = await see(browser, "/dead")
    failed = await see(browser, sent[0].headers["location"].removeprefix(HOME))

    answer = await browser.post(f"{HOME}/dead/retry", data={"kind": "no_language_model"})

    assert "2 no language model" in dead
    assert "Alpha" in dead
    assert "HEADRACE_SUBTITLES_MODEL_URL" in failed
    assert answer.headers["location"] == f"{HOME}/dead?did=2"


async def test_nothing_is_dead(browser: httpx2.AsyncClient) -> None:
    """An empty page says what would stand there."""
    assert "Nothing is dead" in await see(browser, "/dead")


@pytest.mark.parametrize("path", ["/", "/library", "/dead"])
async def test_no_page_has_a_script_in_it(browser: httpx2.AsyncClient, path: str) -> None:
    """The policy would stop it, and nobody would know why."""
    text = (await browser.get(HOME + path)).text

    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", text) == []


def test_there_are_enough_videos_to_choose_from() -> None:
    """The tests above ask for these by their numbers."""
    assert {101, 102, 110} <= {video.feature.id for video in DEMO}
