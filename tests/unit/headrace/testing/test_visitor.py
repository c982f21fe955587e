"""Visiting pages and routes of a pipeline in its own tests."""

from __future__ import annotations

from headrace import Pipeline, flow
from headrace.testing import Harness, visitor


@flow
async def idle() -> None: ...


async def test_a_visitor_sees_pages_and_the_api() -> None:
    """A page is tested without a server, a port, or a browser."""
    async with Harness(Pipeline("small", flows=[idle])) as harness, visitor(harness.app) as client:
        page, answer = await client.get("/try"), await client.get("/api/status")

    assert "small.idle" in page.text
    assert answer.json()["flows"] == {"small": ["idle"]}
