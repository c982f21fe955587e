from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.chunks import Chunk, divide
from headrace_pipelines.subtitles.rules.prompts import SCHEMA, Brief, system_text, user_text

Film = Callable[[int], tuple[Cue, ...]]
BRIEF = Brief(source="en", target="pt-BR")


def asked(chunk: Chunk, *ids: int, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(user_text(chunk, ids, BRIEF, **more))
    return told


def test_the_model_is_told_of_the_film() -> None:
    """A pun on a name, a she who is called Alex: who does not know translates wrongly."""
    text = system_text(
        Brief(
            source="en",
            target="he",
            title="The Long Night",
            year=1946,
            synopsis="A clerk finds a map.",
            glossary={"Clerk": "פקיד", "Map": "מפה"},
            genders={"Alex": "female"},
        )
    )

    for words in (
        "from English into Hebrew",
        "The Long Night (1946)",
        "A clerk finds a map.",
        "- Clerk: פקיד",
        "- Alex: female",
    ):
        assert words in text


def test_languages_have_names_and_no_codes() -> None:
    """Models took codes for something else."""
    text = system_text(BRIEF)

    assert "Brazilian Portuguese" in text
    assert "pt-BR" not in text
    assert asked(divide((Cue(start=0, end=1, text="Hi."),), target="pt-BR")[0], 1)["into"] == "Brazilian Portuguese"


def test_nothing_is_said_of_what_is_not_known() -> None:
    """An empty heading is an invitation to fill it in."""
    text = system_text(BRIEF)

    assert not [word for word in ("The film", "What it is about", "Always translate", "Who speaks") if word in text]


def test_only_what_is_asked_for_has_an_id(film: Film) -> None:
    """Without an id a context line cannot come back as a translation of another one."""
    chunk = divide(film(250), target="he")[1]

    told = asked(chunk, *(line.id for line in chunk.lines), known={100: "Cem."})["lines"]

    assert [line["id"] for line in told if "id" in line] == list(range(101, 201))
    context = [line for line in told if "id" not in line]
    assert len(context) == 6 + 3
    assert all(line["context_only"] for line in context)
    assert context[5] == {"context_only": True, "text": chunk.before[5].text, "translation": "Cem."}
    assert "translation" not in context[0]


def test_timing_never_leaves_the_machine(film: Film) -> None:
    """What a model never sees it cannot shift."""
    chunk = divide(film(5), target="he")[0]

    assert {key for line in asked(chunk, 1, 2, 3)["lines"] for key in line} <= {"id", "text", "context_only"}


def test_a_line_that_is_asked_for_again_stands_among_its_neighbours(film: Film) -> None:
    """One line without what is around it has no meaning; all hundred would be paid for twice."""
    chunk = divide(film(100), target="he")[0]

    told = asked(chunk, 20, 80, known={19: "Dezanove."}, mind={80: "it was left out"})["lines"]

    assert [line["id"] for line in told if "id" in line] == [20, 80]
    assert [line["text"] for line in told] == [
        chunk.lines[place - 1].text for place in (*range(14, 23), *range(78, 84))
    ]
    assert told[5]["translation"] == "Dezanove."
    assert [line.get("mind") for line in told if "id" in line] == [None, "it was left out"]


def test_the_answer_is_wanted_as_json() -> None:
    """Ids are numbers and every item has both: a strict server lets the model say nothing else."""
    assert SCHEMA["required"] == ["items"]
    assert '{"items":[{"id":1,"text":"..."}]}' in system_text(BRIEF)


def test_letters_are_not_escaped(film: Film) -> None:
    """A Hebrew letter as \\u05d0 is six tokens."""
    chunk = divide((Cue(start=0, end=1, text="שלום"),), target="pt-BR")[0]

    assert "שלום" in user_text(chunk, [1], BRIEF)
