"""Why something is no subtitle."""

from __future__ import annotations

from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit


def test_it_says_why() -> None:
    """The report on a job shows why each candidate was passed over."""
    error = NotASubtitle(Unfit.ADVERT, "the provider wants money")

    assert str(error) == "not a subtitle (advert): the provider wants money"
    assert (error.why, error.details, error.args) == (
        Unfit.ADVERT,
        "the provider wants money",
        (Unfit.ADVERT, "the provider wants money"),
    )
