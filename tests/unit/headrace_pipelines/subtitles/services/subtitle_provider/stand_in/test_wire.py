from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.wire import (
    canonical_query,
    is_canonical,
    refusal_of_query,
)


@pytest.mark.parametrize(
    "raw, canonical",
    [
        ("query=The+Sea&languages=he", "languages=he&query=the+sea"),
        ("imdb_id=tt0042", "imdb_id=42"),
        ("languages=he,en&page=1&type=all", "languages=en%2Che"),
        ("machine_translated=exclude&tmdb_id=7", "tmdb_id=7"),
    ],
)
def test_another_spelling_is_sent_to_this_one(raw: str, canonical: str) -> None:
    """A client that is sloppy here pays each question twice with the real service."""
    assert not is_canonical(raw)
    assert canonical_query(raw) == canonical
    assert is_canonical(canonical)


@pytest.mark.parametrize(
    "query",
    [[], [("query", "up")], [("moviehash", "xyz")], [("year", "soon")], [("colour", "red")], [("type", "series")]],
)
def test_questions_that_it_does_not_take(query: list[tuple[str, str]]) -> None:
    """A stand-in that takes everything lets mistakes through to the real service."""
    refusal = refusal_of_query(query)

    assert refusal is not None
    assert refusal.status_code == 400
