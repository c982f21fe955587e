"""What in a cue is no words: tags, positions, notes, the dashes of speakers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_POSITION = re.compile(r"\{\\[^{}]*\}")
_NOTES = "♩♪♫♬"
_DASHES = "-‐‑‒–—―−"  # noqa: RUF001 - writers and models use them all
# A minus before a number is no speaker.
_SPEAKER = re.compile(rf"\s*[{_DASHES}](?!\d)")
_SPACES = re.compile(r"\s+")
# Marks that only say in which direction to write.
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def marks(text: str) -> Counter[str]:
    """All that a translation has to carry over, and how often; a dash before a speaker's words is one of them."""
    text = _DIRECTIONS.sub("", text)
    found = Counter(_SPACES.sub(" ", tag).lower() for tag in _TAG.findall(text))
    found.update(_POSITION.findall(text))
    found.update(character for character in text if character in _NOTES)
    speakers = sum(_SPEAKER.match(line) is not None for line in _bare(text).splitlines())
    if speakers:
        found["-"] = speakers
    return found


def visible(text: str) -> str:
    """What is read on the screen, on one line."""
    return _SPACES.sub(" ", _bare(_DIRECTIONS.sub("", text))).strip()


def has_words(text: str) -> bool:
    """Whether there is anything to translate; three notes or a number are the same in all languages."""
    return any(character.isalpha() for character in visible(text))


def cells(text: str) -> int:
    """How wide the visible text is; a Chinese character takes the room of two letters, and says as much."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in visible(text))


def lines(text: str) -> int:
    return sum(1 for line in _bare(text).splitlines() if line.strip())


def _bare(text: str) -> str:
    return _POSITION.sub("", _TAG.sub("", text))
