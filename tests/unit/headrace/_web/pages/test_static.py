"""The files that a browser keeps."""

from __future__ import annotations

import re
import tomllib
from hashlib import sha256
from importlib import resources

import httpx2
import pytest

from headrace._web.pages.static import file_link

STATIC = resources.files("headrace._web").joinpath("static")
VENDORED = tomllib.loads(STATIC.joinpath("vendored.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_files_are_what_their_authors_published(name: str) -> None:
    """A change by hand would be lost with the next version, and a change by a stranger must not slip in."""
    about = VENDORED[name]

    assert sha256(STATIC.joinpath(name).read_bytes()).hexdigest() == about["sha256"]
    assert (about["licence"], bool(about["version"])) in {("0BSD", True), ("OFL-1.1", True)}


def test_every_file_is_ours_or_vendored() -> None:
    """A file of unknown origin cannot be updated, nor its licence kept."""
    names = {file.name for file in STATIC.iterdir()}

    assert names == {*VENDORED, "vendored.toml", "OFL.txt", "headrace.css", "headrace.js", "mark.svg"}


async def test_files_are_kept_for_ever(browser: httpx2.AsyncClient) -> None:
    """Another content has another address."""
    answer = await browser.get(file_link("headrace.css"))

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["nope.css", "vendored.toml", "..%2F..%2Fapp.py", "%2Fetc%2Fpasswd"])
async def test_nothing_else_is_given_out(browser: httpx2.AsyncClient, name: str) -> None:
    """A path from outside never reaches the file system."""
    assert (await browser.get(f"/static/x/{name}")).status_code == 404


def test_the_style_sheet_asks_for_nothing_from_elsewhere() -> None:
    """It must work without a network."""
    style = STATIC.joinpath("headrace.css").read_text("utf-8")

    assert set(re.findall(r"url\(([^)]*)\)", style)) == {'"inter.woff2"', '"jetbrains-mono.woff2"'}
    assert "@import" not in style
