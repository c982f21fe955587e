"""Pages that a pipeline brings along."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from headrace import Headrace, Pipeline
from headrace._access.model import Scope
from headrace._app.access import make_token
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.pages.frame import GUEST_POLICY
from headrace.errors import ConfigurationError, DefinitionError
from headrace.pages import Pages
from headrace.testing import Harness, visitor
from tests.unit.headrace._web.pages.conftest import EVIL
from tests.unit.headrace._web.pages.test_frame import INLINE

CODE = """
from dataclasses import dataclass

from starlette.responses import Response

from headrace import Statement
from headrace.errors import ValueRefused
from headrace.pages import Page, Pages

pages = Pages(__name__, title="The garden")
COUNT = Statement("count", "SELECT count(*) FROM runs")


@dataclass
class Shed:
    tools: list[str]


@pages.get("/", title="Beds")
async def beds(page: Page, text: str = "") -> Response:
    return await page.show("beds.html", live="bed.#", tools=page.use(Shed).tools, text=text)


@pages.get("/runs", title="Runs of the garden")
async def counted(page: Page) -> Response:
    return await page.show("counted.html", lambda reader: {"number": reader.one(COUNT)[0]}, live=True)


@pages.get("/beds/{name}")
async def bed(page: Page, name: str) -> dict[str, object]:
    return {"name": name, "number": await page.read(lambda reader: reader.one(COUNT)[0])}


@pages.get("/defect")
async def defect(page: Page) -> Response:
    return await page.show("defect.html")


@pages.get("/refused")
async def refused(page: Page) -> Response:
    raise ValueRefused("the gate is locked; take the key")


@pages.get("/secret", scope="admin")
async def secret(page: Page) -> str:
    return "under the stone"


@pages.post("/add", most=40_000_000)
async def add(page: Page) -> Response:
    async with page.form() as form:
        names = [form["tool"], *(upload.name for upload in form.uploads("picture"))]
        page.use(Shed).tools.extend(names)
    return page.to("/", text="x y")


def wire() -> Shed:
    return Shed(["spade"])
"""
BEDS = """{% extends "frame.html" %}
{% import "parts.html" as parts with context %}
{% block title %}Beds{% endblock %}
{% block head %}<link rel="stylesheet" href="{{ static('garden.css') }}">{% endblock %}
{% block content %}<h1>{{ text }}</h1>{% for tool in tools %}<p>{{ tool }}</p>{% endfor %}
<a href="{{ link('/beds/a b', how='x&y') }}">bed</a> {{ parts.moment(now) }}{% endblock %}
"""


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    """A package in a folder of its own, as a pipeline is."""
    folder = tmp_path / "garden"
    (folder / "templates").mkdir(parents=True)
    (folder / "static" / "deep").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "pages.py").write_text(CODE)
    (folder / "templates" / "beds.html").write_text(BEDS)
    (folder / "templates" / "counted.html").write_text(
        '{% extends "frame.html" %}{% block content %}<b>{{ number }}</b>{% endblock %}'
    )
    (folder / "templates" / "defect.html").write_text("{{ 1 / 0 }}")
    (folder / "static" / "garden.css").write_text("h1 { color: green }")
    (folder / "static" / "deep" / "a b.js").write_text("'use strict';")
    (tmp_path / "hidden.txt").write_text("not for the world")
    monkeypatch.syspath_prepend(str(tmp_path))
    wire = importlib.import_module("garden.pages").wire
    yield Pipeline("garden", pages="garden.pages:pages", wire=wire)
    for name in ("garden.pages", "garden"):
        sys.modules.pop(name, None)


@pytest.fixture
async def client(garden: Pipeline) -> AsyncIterator[httpx2.AsyncClient]:
    async with Harness(garden) as harness, visitor(harness.app) as found:
        yield found


async def test_a_page_stands_in_our_frame_and_in_the_navigation(client: httpx2.AsyncClient) -> None:
    """For its users it is a part of the dashboard, and on each of its pages the way to it."""
    page, now = (await client.get("/p/garden/")).text, (await client.get("/")).text

    assert "<p>spade</p>" in page
    assert "<title>Beds · Headrace</title>" in page
    assert '<a href="/p/garden/" aria-current="page">Beds' in page
    assert "<p>The garden</p>" in now
    assert '<a href="/p/garden/runs">Runs of the garden' in now
    assert "&text=" not in page


async def test_the_nearest_place_is_the_current_one(client: httpx2.AsyncClient) -> None:
    """All pages of a pipeline begin with the address of its first."""
    page = (await client.get("/p/garden/runs")).text

    assert page.count('aria-current="page"') == 1
    assert '<a href="/p/garden/runs" aria-current="page">' in page


async def test_links_and_files_have_their_prefix(client: httpx2.AsyncClient) -> None:
    """Templates do not know under which name they are installed."""
    page = (await client.get("/p/garden/")).text

    assert 'href="/p/garden/beds/a b?how=x%26y"' in page
    assert 'href="/p/garden/static/' in page


async def test_what_is_typed_does_not_become_markup(client: httpx2.AsyncClient) -> None:
    """Templates of pipelines escape like ours."""
    page = (await client.get("/p/garden/", params={"text": EVIL})).text

    assert "<script>alert" not in page
    assert INLINE.findall(page) == []


async def test_a_live_page_names_the_topic_that_it_follows(client: httpx2.AsyncClient) -> None:
    """A page with films must not be asked for whenever anything happens anywhere."""
    assert 'hx-sse:connect="/live/changes?topic=bed.%23&amp;since=0"' in (await client.get("/p/garden/")).text
    assert 'hx-sse:connect="/live/changes?since=' in (await client.get("/p/garden/runs")).text


async def test_values_become_json_and_paths_are_decoded(client: httpx2.AsyncClient) -> None:
    """For scripts of the page."""
    answer = await client.get("/p/garden/beds/a%20b%2Fc")

    assert answer.json() == {"name": "a b/c", "number": 0}


async def test_a_policy_allows_what_pages_of_pipelines_need(client: httpx2.AsyncClient) -> None:
    """Players and previews, and nothing from elsewhere."""
    page = await client.get("/p/garden/")

    assert page.headers["content-security-policy"] == GUEST_POLICY
    assert "media-src 'self' blob:" in GUEST_POLICY
    assert "unsafe" not in GUEST_POLICY
    assert page.headers["cache-control"] == "no-store"


async def test_files_are_kept_for_ever_and_no_other_file_is_reached(client: httpx2.AsyncClient) -> None:
    """The address has the content in it; two dots lead nowhere."""
    page = (await client.get("/p/garden/")).text
    address = page.partition('rel="stylesheet" href="/p/')[2].partition('"')[0]

    style = await client.get(f"/p/{address}")
    deep = await client.get("/p/garden/static/any/deep/a%20b.js")
    outside = [
        await client.get(f"/p/garden/static/x/{path}")
        for path in ("..%2F..%2Fhidden.txt", "%2e%2e/pages.py", "deep", "gone.css", "%2Fetc%2Fpasswd")
    ]

    assert (style.text, style.headers["content-type"]) == ("h1 { color: green }", "text/css; charset=utf-8")
    assert "immutable" in style.headers["cache-control"]
    assert deep.status_code == 200
    assert "immutable" not in deep.headers.get("cache-control", "")
    assert [answer.status_code for answer in outside] == [404] * 5


async def test_a_form_brings_fields_and_files(client: httpx2.AsyncClient) -> None:
    """And leads back, so that reloading does not send it again."""
    answer = await client.post("/p/garden/add", data={"tool": "rake"}, files={"picture": ("../bed.png", b"png")})
    page = (await client.get("/p/garden/")).text

    assert (answer.status_code, answer.headers["location"]) == (303, "/p/garden/?text=x+y")
    assert "<p>rake</p><p>bed.png</p>" in page


async def test_more_may_come_where_a_page_says_so(client: httpx2.AsyncClient) -> None:
    """And no more than it says."""
    large = {"picture": ("a.bin", b"x" * 20_000_000)}
    too_large = {"picture": ("a.bin", b"x" * 41_000_000)}

    assert (await client.post("/p/garden/add", data={"tool": "a"}, files=large)).status_code == 303
    refused = await client.post("/p/garden/add", data={"tool": "b"}, files=too_large)
    assert (refused.status_code, "more than 38.1 MiB; send less" in refused.text) == (413, True)


async def test_defects_and_refusals_are_pages(client: httpx2.AsyncClient) -> None:
    """No stack trace, and the words of the error."""
    defect, refused, gone = [await client.get(f"/p/garden/{path}") for path in ("defect", "refused", "nope")]

    assert (defect.status_code, "Something broke" in defect.text, "ZeroDivision" in defect.text) == (500, True, False)
    assert (refused.status_code, "take the key" in refused.text) == (422, True)
    assert gone.status_code == 404


async def test_scopes_are_those_of_the_dashboard(garden: Pipeline, tmp_path: Path) -> None:
    """A token that may look must not act, here as everywhere."""
    async with Headrace([garden], store=tmp_path / "g.db") as app:
        reader = (await make_token(app.database, app.clock, name="reader", scope=Scope.READ)).token
        transport = httpx2.ASGITransport(app=create_app(app, Admission(needs_token=True)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420") as client:
            known = {"Authorization": f"Bearer {reader}"}
            stranger = await client.get("/p/garden/")
            page = await client.get("/p/garden/", headers=known)
            acted = await client.post("/p/garden/add", headers=known, data={"tool": "x"})
            file = await client.get("/p/garden/static/x/garden.css")
            secret = await client.get("/p/garden/secret", headers=known)

    assert (stranger.status_code, page.status_code, acted.status_code) == (401, 200, 403)
    assert (file.status_code, secret.status_code) == (401, 403)


async def test_only_the_frame_and_its_parts_are_shared(garden: Pipeline, tmp_path: Path) -> None:
    """A page that built on our other templates would break with them."""
    (tmp_path / "garden" / "templates" / "beds.html").write_text('{% include "now.html" %}')
    async with Harness(garden) as harness, visitor(harness.app) as client:
        assert (await client.get("/p/garden/")).status_code == 500


@pytest.mark.parametrize(
    "wrong,words",
    [
        (lambda pages: pages.get("beds"), "begin with a slash"),
        (lambda pages: pages.get("/beds/{name}", title="Bed"), "has parameters"),
        (lambda pages: pages.get("/static/x"), "belongs to the files"),
    ],
)
def test_wrong_declarations_are_refused_at_once(wrong: object, words: str) -> None:
    """At import, not when somebody clicks."""
    with pytest.raises(DefinitionError, match=words):
        wrong(Pages(__name__))  # type: ignore[operator]  # a lambda


def test_a_function_answers_at_one_path() -> None:
    """What it asks for is written on the function."""
    pages = Pages(__name__)

    async def page() -> None: ...

    pages.get("/a")(page)
    with pytest.raises(DefinitionError, match="answers at '/b' already"):
        pages.get("/b")(page)


def test_a_path_has_one_function() -> None:
    """The second one would never be reached, and nobody would know why."""
    pages = Pages(__name__)

    async def one() -> None: ...
    async def other() -> None: ...

    pages.get("/a")(one)
    with pytest.raises(DefinitionError, match="two functions answer GET '/a'"):
        pages.get("/a")(other)


def test_pages_belong_to_a_module() -> None:
    """Their folders stand beside it."""
    with pytest.raises(DefinitionError, match="no such module"):
        Pages("no.such.module")


async def test_what_a_pipeline_names_has_to_be_pages(tmp_path: Path) -> None:
    """A router is something else."""
    async with Headrace([Pipeline("odd", pages="json:dumps")], store=tmp_path / "odd.db") as app:
        with pytest.raises(ConfigurationError, match="json:dumps"):
            create_app(app, Admission())
