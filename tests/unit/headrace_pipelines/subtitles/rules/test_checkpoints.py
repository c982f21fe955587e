from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules import checkpoints
from headrace_pipelines.subtitles.rules.checkpoints import Checkpoint, accepted_in, checkpoint, content_key
from headrace_pipelines.subtitles.rules.chunks import Chunk, Line, divide
from headrace_pipelines.subtitles.rules.prompts import Brief

Film = Callable[[int], tuple[Cue, ...]]
BRIEF = Brief(source="en", target="he", glossary={"a": "b", "c": "d"})
CHUNK = Chunk(number=1, lines=(Line(id=1, text="Hello."), Line(id=2, text="Bye.")))


def key(chunk: Chunk = CHUNK, brief: Brief = BRIEF, model: str = "m") -> str:
    return content_key(chunk, brief, model=model)


def test_the_key_is_a_digest_that_never_changes_by_itself() -> None:
    """Keys are in databases; a new way to compute them throws away what was paid for."""
    assert key() == "4f8a392e208daafdd3226b44c053e38454d2bfd5499b797b1825ee35957970c3"  # pragma: allowlist secret


def test_another_job_with_the_same_lines_has_the_same_key() -> None:
    """Results were kept under the id of a request, so that every new request paid again (O6)."""
    later = Chunk(number=9, lines=(Line(id=801, text="Hello."), Line(id=802, text="Bye.")), before=CHUNK.lines)

    assert key(later) == key()
    assert key(brief=replace(BRIEF, glossary={"c": "d", "a": "b"}, title="A film", synopsis="About it.")) == key()


@pytest.mark.parametrize(
    "other",
    [
        key(replace(CHUNK, lines=(Line(id=1, text="Hello!"), Line(id=2, text="Bye.")))),
        key(replace(CHUNK, lines=(Line(id=1, text="Hello.Bye."),))),
        key(replace(CHUNK, lines=CHUNK.lines[::-1])),
        key(brief=replace(BRIEF, source="de")),
        key(brief=replace(BRIEF, target="ar")),
        key(brief=replace(BRIEF, glossary={"a": "b"})),
        key(brief=replace(BRIEF, genders={"Alex": "female"})),
        key(model="n"),
    ],
)
def test_whatever_changes_the_translation_changes_the_key(other: str) -> None:
    """The film in another language under the same key is the worst of all mistakes."""
    assert other != key()


def test_another_wording_of_the_prompt_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A better prompt is there to be used."""
    before = key()
    monkeypatch.setattr(checkpoints, "PROMPT_VERSION", "other")

    assert key() != before


def test_odd_texts_have_a_key() -> None:
    """A lone surrogate in a source file must not stop the film."""
    assert key(Chunk(number=1, lines=(Line(id=1, text="\ud83d"),)))


def test_what_was_accepted_comes_back_under_the_ids_of_its_chunk(film: Film) -> None:
    """The same scene may begin at another cue in another release."""
    first, second, _ = divide(film(250), target="he")
    kept = checkpoint(first, {1: "one", 3: "three"})

    assert accepted_in(kept, first) == {1: "one", 3: "three"}
    assert accepted_in(kept, second) == {101: "one", 103: "three"}


def test_a_checkpoint_of_another_chunk_is_not_used() -> None:
    """A row that does not fit is a miss, never half a chunk."""
    assert accepted_in(Checkpoint(texts=("one",)), CHUNK) == {}
