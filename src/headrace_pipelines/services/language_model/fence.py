"""Models like to wrap JSON in Markdown."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\A\s*```[A-Za-z0-9_-]*[ \t]*\r?\n(?P<inside>.*?)\n?[ \t]*```\s*\Z", re.DOTALL)


def without_fence(text: str) -> str:
    """The text inside a Markdown code fence, if that is all there is."""
    fenced = _FENCE.match(text)
    return fenced["inside"] if fenced else text
