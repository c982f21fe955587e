from __future__ import annotations

import pytest

from headrace_pipelines.services.language_model.fence import without_fence


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '  ```JSON  \n{"a": 1}```  ',
        '```json\r\n{"a": 1}\n```\n',
    ],
)
def test_json_comes_out_of_its_fence(text: str) -> None:
    """Most models fence JSON now and then; to throw that away would be to pay twice."""
    assert without_fence(text).strip() == '{"a": 1}'


@pytest.mark.parametrize("text", ["Here: ```json\n{}\n```", "```json\n{}", "a ``` b", ""])
def test_other_text_stays_as_it_is(text: str) -> None:
    """What is not just a fenced block is not JSON, and is to be refused as such."""
    assert without_fence(text) == text
