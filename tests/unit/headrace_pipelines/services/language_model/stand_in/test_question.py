from __future__ import annotations

import json

from pydantic import JsonValue

from headrace_pipelines.services.language_model.stand_in.question import Line, gemini_question, openai_question

LINES = json.dumps({"into": "Hebrew", "lines": [{"text": "context"}, {"id": 7, "text": "Hi."}]})


def test_both_protocols_ask_the_same_question() -> None:
    """A test of a pipeline does not care by which protocol the question came."""
    schema: JsonValue = {"type": "object"}
    one = openai_question(
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": LINES}],
            "max_tokens": 9,
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
        }
    )
    other = gemini_question(
        "m",
        {
            "systemInstruction": {"parts": [{"text": "Be "}, {"text": "brief."}]},
            "contents": [{"role": "user", "parts": [{"text": LINES}]}],
            "generationConfig": {
                "maxOutputTokens": 9,
                "responseMimeType": "application/json",
                "responseSchema": schema,
            },
        },
    )

    for question in (one, other):
        assert (question.model, question.system, question.messages) == ("m", "Be brief.", (LINES,))
        assert (question.schema, question.format, question.max_tokens) == (schema, "json_schema", 9)
        assert (question.lines, question.ids, question.language) == ((Line(id=7, text="Hi."),), (7,), "Hebrew")


def test_a_question_without_lines_is_just_text() -> None:
    """Other pipelines ask other things."""
    question = openai_question({"model": "m", "messages": [{"role": "user", "content": "What is {this}?"}]})

    assert (question.lines, question.language, question.format, question.schema) == ((), "", "text", None)
    assert question.prompt == "What is {this}?"
