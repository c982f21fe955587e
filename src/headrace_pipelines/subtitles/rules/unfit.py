"""Why something that came as a subtitle is none."""

from __future__ import annotations

from enum import StrEnum


class Unfit(StrEnum):
    """The value is the word that events and tables carry."""

    ADVERT = "advert"
    BITMAP = "bitmap"
    DAMAGED = "damaged"
    EMPTY = "empty"
    MARKUP = "html_or_json"
    NO_FORMAT = "no_known_format"
    NO_FRAME_RATE = "frame_rate_needed"
    TOO_FEW_CUES = "too_few_cues"
    TOO_LARGE = "too_large"
    TOO_SHORT = "covers_too_little"
    TOO_SMALL = "too_small"
    WRONG_LANGUAGE = "wrong_language"


class Unusable(ValueError):
    """What came cannot be used. The next candidate is to be tried; trying this one again changes nothing."""

    @property
    def word(self) -> str:
        """One word for why, which events and tables carry."""
        return "unusable"


class NotASubtitle(Unusable):
    """It is none, or none for this video and language."""

    def __init__(self, why: Unfit, details: str) -> None:
        super().__init__(why, details)
        self.why = why
        self.details = details

    @property
    def word(self) -> str:
        return self.why.value

    def __str__(self) -> str:
        return f"not a subtitle ({self.why}): {self.details}"
