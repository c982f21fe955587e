"""Why something is no subtitle."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.archives import ArchiveRefused, Refusal
from headrace_pipelines.subtitles.rules.encoding import EncodingUnknown
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit, Unusable


def test_it_says_why() -> None:
    """The report on a job shows why each candidate was passed over."""
    error = NotASubtitle(Unfit.ADVERT, "the provider wants money")

    assert str(error) == "not a subtitle (advert): the provider wants money"
    assert (error.why, error.details, error.args) == (
        Unfit.ADVERT,
        "the provider wants money",
        (Unfit.ADVERT, "the provider wants money"),
    )


@pytest.mark.parametrize(
    "error, word",
    [
        (NotASubtitle(Unfit.MARKUP, "a web page"), "html_or_json"),
        (ArchiveRefused(Refusal.ENCRYPTED, "a password"), "archive_encrypted"),
        (EncodingUnknown("he", ("utf-8",)), "encoding_unknown"),
        (Unusable("for another reason"), "unusable"),
    ],
)
def test_whatever_cannot_be_used_is_passed_over(error: Unusable, word: str) -> None:
    """Who fetches catches one class and records one word; whichever rule said no."""
    assert isinstance(error, Unusable)
    assert error.word == word
