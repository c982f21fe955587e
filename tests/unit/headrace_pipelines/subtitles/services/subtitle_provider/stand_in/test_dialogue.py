from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.dialogue import FILM_CUES, LANGUAGES, srt


def times(content: bytes) -> list[str]:
    return [line for line in content.decode().splitlines() if "-->" in line]


def test_the_same_film_says_the_same() -> None:
    """Nothing random may get into a test or a demo."""
    assert srt("A Map of Winter", "en", 50) == srt("A Map of Winter", "en", 50)
    assert srt("A Map of Winter", "en", 50) != srt("Copper Moon", "en", 50)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_languages_keep_the_same_times(language: str) -> None:
    """A translation can be compared with what a person would have uploaded."""
    content = srt("A Map of Winter", language, FILM_CUES)

    assert times(content) == times(srt("A Map of Winter", "en", FILM_CUES))
    assert len(times(content)) == FILM_CUES
    assert "{" not in content.decode()


def test_cues_follow_each_other() -> None:
    """An overlap would be a fault that the pipeline warns of."""
    bounds = [part.strip() for line in times(srt("Ember Street", "he", FILM_CUES)) for part in line.split("-->")]

    assert bounds == sorted(bounds)
