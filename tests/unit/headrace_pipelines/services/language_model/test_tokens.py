from __future__ import annotations

import pytest

from headrace_pipelines.services.language_model.tokens import estimated_tokens


@pytest.mark.parametrize("text, tokens", [("", 0), ("a", 1), ("four", 1), ("hello", 2), ("שלום", 4), ("你好 ok", 3)])
def test_other_letters_count_more_than_english(text: str, tokens: int) -> None:
    """A budget in characters would overrun the limit of a model as soon as a film is not in English."""
    assert estimated_tokens(text) == tokens
