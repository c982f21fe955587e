"""To which place of the navigation a page belongs."""

from __future__ import annotations

import pytest

from headrace._web.pages.navigation import NAVIGATION, Place, place_of


@pytest.mark.parametrize(
    "path,place",
    [
        ("/", "/"),
        ("/runs", "/runs"),
        ("/runs/order-1", "/runs"),
        ("/runsomething", ""),
        ("/history", "/events"),
        ("/publish", "/events"),
        ("/deadletters/groups/abc", "/deadletters"),
        ("/theme", ""),
    ],
)
def test_a_page_belongs_to_the_place_that_leads_to_it(path: str, place: str) -> None:
    """The way back is where one came from."""
    assert place_of(path) == place


def test_the_nearest_place_counts() -> None:
    """Pages of a pipeline lie under its first one."""
    groups = (*NAVIGATION, ("Garden", (Place("/p/garden/", "Beds"), Place("/p/garden/tools", "Tools"))))

    assert place_of("/p/garden/tools/spade", groups) == "/p/garden/tools"
    assert place_of("/p/garden/beds/1", groups) == "/p/garden/"
