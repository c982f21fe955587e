from __future__ import annotations

from headrace_pipelines.subtitles.rules.webhook import number, part, parts, text


def test_whatever_comes_is_read_without_breaking() -> None:
    """Templates are written by users, and anybody can send anything."""
    payload = {"a": 7, "b": " 07 ", "c": None, "d": {"e": "f"}, "g": [{"h": 1}, "i"], "j": "-1"}

    assert [text(payload, name) for name in "abcdgx"] == ["7", "07", "", "", "", ""]
    assert [number(payload, name) for name in "abcj"] == [7, 7, None, None]
    assert (part(payload, "d"), part(payload, "a"), part(payload, "x")) == ({"e": "f"}, {}, {})
    assert (parts(payload, "g"), parts(payload, "a")) == ([{"h": 1}], [])
