"""How much a text is to a model, without its tokeniser."""

from __future__ import annotations

_LETTERS_PER_TOKEN = 4
"""Of English, with the tokenisers in use."""


def estimated_tokens(text: str) -> int:
    """Rather too many: a quarter per ASCII character, one for each other, because tokenisers are made for English."""
    ascii_characters = sum(character.isascii() for character in text)
    return -(-ascii_characters // _LETTERS_PER_TOKEN) + len(text) - ascii_characters
