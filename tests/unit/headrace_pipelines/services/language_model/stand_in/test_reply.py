from __future__ import annotations

import json

from pydantic import JsonValue

from headrace_pipelines.services.language_model.stand_in.question import openai_question
from headrace_pipelines.services.language_model.stand_in.reply import cut, fitting
from headrace_pipelines.services.language_model.tokens import estimated_tokens


def ask(text: str, schema: JsonValue) -> JsonValue:
    wanted: JsonValue = {"type": "json_schema", "json_schema": {"schema": schema}}
    question = openai_question(
        {"model": "m", "messages": [{"role": "user", "content": text}], "response_format": wanted}
    )
    answer: JsonValue = json.loads(fitting(question))
    return answer


def test_an_answer_fits_the_schema_and_depends_on_the_question_alone() -> None:
    """Whoever runs a pipeline on stand-ins sees something of the right shape, the same each time."""
    schema: JsonValue = {
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "topics": {
                "type": "array",
                "minItems": 2,
                "items": {"type": "string", "enum": ["roads", "water", "parks"]},
            },
            "pages": {"type": "integer", "minimum": 1},
            "share": {"type": "number"},
            "urgent": {"type": "boolean"},
            "odd": {},
        },
    }

    answer = ask("The bridge.", schema)

    assert isinstance(answer, dict)
    assert answer == ask("The bridge.", schema)
    assert str(answer["summary"]).startswith("The bridge.")
    topics = answer["topics"]
    assert isinstance(topics, list)
    assert len(topics) == 2
    assert set(topics) <= {"roads", "water", "parks"}
    assert (answer["pages"], answer["share"], answer["urgent"], answer["odd"]) == (1, 0, False, None)


def test_a_cut_answer_has_as_many_tokens_as_allowed() -> None:
    """Where it is cut decides whether half of the JSON looks whole."""
    said = cut("word " * 100, 10)

    assert (said.finish, estimated_tokens(said.text)) == ("length", 10)
    assert cut("word", 1).finish == "stop"
    assert cut("word " * 100, None).finish == "stop"
