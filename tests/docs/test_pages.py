"""Links lead somewhere, and one sentence stands on one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_snippets import PAGES
from tests.tree import ROOT

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCES = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TWO_SENTENCES = re.compile(r"[a-z)`\"][.?!] [A-Z`]")


def prose(path: Path) -> str:
    return FENCES.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Pages move; a dead link is where a reader gives up."""
    dead = []
    for target in (match["target"] for match in LINK.finditer(prose(path))):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        page = (path.parent / name).resolve() if name else path
        if not page.exists() or (anchor and anchor not in anchors(page)):
            dead.append(target)

    assert dead == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_one_sentence_per_line(path: Path) -> None:
    """A change of one sentence shows as one line in a review."""
    if "<!-- Made by" in path.read_text("utf-8"):
        pytest.skip("written by make docs")
    lines = [line for line in prose(path).splitlines() if not line.startswith("|")]

    assert [line for line in lines if TWO_SENTENCES.search(line)] == []


def test_every_page_is_in_an_index() -> None:
    """A page that no index mentions is not found by anyone."""
    docs = ROOT / "docs"
    linked = set()
    for index in (path for path in PAGES if path.name == "README.md"):
        linked |= {
            (index.parent / match["target"].partition("#")[0]).resolve() for match in LINK.finditer(prose(index))
        }

    assert [
        str(path) for path in PAGES if path.is_relative_to(docs) and path != docs / "README.md" and path not in linked
    ] == []
