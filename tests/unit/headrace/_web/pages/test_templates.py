"""Words and shapes of the templates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headrace._web.pages.templates import (
    LONGEST_VALUE,
    amount,
    clock_text,
    linked_runs,
    pretty_json,
    prose,
    short_place,
)

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


def test_values_are_marked_and_harmless() -> None:
    """What stands in a value must not become part of the page."""
    shown = pretty_json({"<b>": "</pre><script>", "n": -1.5e3, "t": True, 'quote"': None})

    assert "<script>" not in shown
    assert '<span class="j-key">&#34;&lt;b&gt;&#34;</span>' in shown
    assert '<span class="j-number">-1500.0</span>' in shown
    assert '<span class="j-word">true</span>' in shown


def test_a_huge_value_is_cut_and_says_so() -> None:
    """A value may have 16 MiB."""
    shown = pretty_json("x" * 3 * LONGEST_VALUE)

    assert len(shown) < 2 * LONGEST_VALUE
    assert "more characters" in shown


@pytest.mark.parametrize("run_id", ["parcel-7", "it's", 'a"b', "a'b\"c", "🚰/x, y"])
def test_runs_that_a_reason_names_are_links(run_id: str) -> None:
    """From the run that waits to the one it waits for."""
    linked = linked_runs(f"timer, run {run_id!r}, message 'x'")

    assert linked.count("<a href=") == 1
    assert linked.startswith("timer, run <a")
    assert linked.endswith("</a>, message &#39;x&#39;")


@pytest.mark.parametrize(
    "moment,text", [(NOW - timedelta(hours=3), "09:00:00"), (NOW - timedelta(days=2), "17 Nov 12:00")]
)
def test_near_times_have_seconds_and_far_ones_a_date(moment: datetime, text: str) -> None:
    """As much as is needed to place it."""
    assert clock_text(moment, NOW) == text


def test_small_words() -> None:
    """Numbers in groups, code as code, files without their folders."""
    assert amount(1234567) == "1\u202f234\u202f567"
    assert prose("`safe` & sound") == "<code>safe</code> &amp; sound"
    assert short_place("/srv/app/goals/flow.py:84") == "flow.py:84"
