from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.rules.answers import Checked, Problem, check

ASKED = {101: "Good morning.", 102: "How are you today?", 103: "Fine, thank you."}
SAID = {101: "בוקר טוב.", 102: "מה שלומך היום?", 103: "טוב, תודה לך."}


def answer(*items: tuple[object, object]) -> str:
    return json.dumps({"items": [{"id": number, "text": text} for number, text in items]}, ensure_ascii=False)


def judged(text: str, asked: Mapping[int, str] = ASKED, *, source: str = "en", target: str = "he") -> Checked:
    return check(text, asked, source=source, target=target)


def problem(original: str, said: str, *, source: str = "en", target: str = "he") -> Problem | None:
    return judged(answer((1, said)), {1: original}, source=source, target=target).problems.get(1)


def test_a_good_answer_is_accepted_whole() -> None:
    """All is well with most answers."""
    assert judged(answer(*SAID.items())) == Checked(accepted=SAID, problems={})


def test_the_order_of_the_items_decides_nothing() -> None:
    """An id is what tells lines apart."""
    assert judged(answer(*reversed(SAID.items()))).accepted == SAID


@pytest.mark.parametrize(
    "wrapped",
    ["```json\n{}\n```", "```\n{}\n```", "<think>Hmm, 101 is a greeting.</think>\n{}", "  \n{}  "],
)
def test_what_models_wrap_around_json_is_tolerated(wrapped: str) -> None:
    """To ask again for a fence would be to pay twice."""
    assert judged(wrapped.replace("{}", answer(*SAID.items()))).accepted == SAID


def test_ids_as_text_are_tolerated() -> None:
    """Models without strict schemas like to quote them."""
    assert judged(answer(*((str(number), text) for number, text in SAID.items()))).accepted == SAID


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Certainly!",
        "[1, 2]",
        '{"lines": []}',
        '{"items": {}}',
        '{"items": [1]}',
        '{"items": [{"id": 101}]}',
        '{"items": [{"id": 101, "text": null}]}',
        '{"items": [{"id": true, "text": "x"}]}',
        '{"items": [{"id": 101.5, "text": "x"}]}',
        '{"items": [{"id": 101, "text": "x"}',
        "[" * 100_000,
    ],
)
def test_what_is_not_the_json_is_not_guessed_at(text: str) -> None:
    """A cut answer that is parsed anyway loses the lines after the cut (O24)."""
    assert judged(text) == Checked(accepted={}, problems=dict.fromkeys(ASKED, Problem.UNREADABLE))


def test_one_missing_line_in_a_later_chunk_costs_no_other() -> None:
    """It left all hundred cues of the chunk untranslated, and the job was done (O7)."""
    asked = {number: f"Sentence number {number}." for number in range(101, 201)}
    said = {number: f"משפט מספר {number}." for number in asked if number != 150}

    checked = judged(answer(*said.items()), asked)

    assert set(checked.problems) == {149, 150, 151}
    assert checked.problems[150] is Problem.MISSING
    assert {checked.problems[149], checked.problems[151]} == {Problem.BESIDE}
    assert checked.accepted == {number: text for number, text in said.items() if number not in (149, 151)}


@pytest.mark.parametrize("said", ["Hola [risas] amigo", "Ver página [7] ahora", "[1] [1] [3]", '{"id": 9}', "1. [2] 3"])
def test_brackets_and_numbers_in_a_line_are_only_text(said: str) -> None:
    """Answers were split at brackets: words were lost and cues were invented (O8)."""
    checked = judged(answer((7, said)), {7: "Hello [laughs] friend 7"}, target="es")

    assert checked == Checked(accepted={7: said}, problems={})


def test_a_line_that_is_answered_twice_is_not_chosen_from() -> None:
    """`1, 1, 3` was accepted as 1, 2, 3 (O8)."""
    checked = judged(answer((101, "בוקר טוב."), (101, "מה שלומך היום?"), (103, "טוב, תודה לך.")))

    assert checked.accepted == {103: "טוב, תודה לך."} or 103 in checked.problems
    assert checked.problems[101] is Problem.TWICE
    assert checked.problems[102] is Problem.MISSING


def test_a_model_that_counts_anew_is_not_believed() -> None:
    """Ids that were not asked for mean that lines may have moved, so none of them is taken."""
    checked = judged(answer((1, SAID[101]), (2, SAID[102]), (3, SAID[103])))
    shifted = judged(answer(*SAID.items(), (104, "ועוד אחד.")))

    assert checked.problems == shifted.problems == dict.fromkeys(ASKED, Problem.STRANGERS)


def test_merged_lines_are_noticed_by_the_gap() -> None:
    """The line that took another one in looks good by itself."""
    checked = judged(answer((101, f"{SAID[101]} {SAID[102]}"), (103, SAID[103])))

    assert checked.problems == {101: Problem.BESIDE, 102: Problem.MISSING, 103: Problem.BESIDE}


def test_merged_lines_are_noticed_when_both_say_the_whole() -> None:
    """The other way in which models merge."""
    whole = f"{SAID[101]} {SAID[102]}"

    checked = judged(answer((101, whole), (102, whole), (103, SAID[103])))

    assert checked.problems == {101: Problem.REPEATED, 102: Problem.REPEATED}


def test_a_film_may_repeat_itself() -> None:
    """The same original has the same translation."""
    asked = {1: "Go, go, go, go!", 2: "Go, go, go, go!"}

    assert judged(answer((1, "לך, לך, לך!"), (2, "לך, לך, לך!")), asked).problems == {}


@pytest.mark.parametrize(
    "original, said, expected",
    [
        ("Hello.", "", Problem.EMPTY),
        ("Hello.", "<i></i>", Problem.EMPTY),
        ("<i>Hello.</i>", "שלום.", Problem.MARKS),
        ("{\\an8}Hello.", "שלום.", Problem.MARKS),
        ("♪ Hello ♪", "שלום", Problem.MARKS),
        ("- Hi.\n- Hello.", "שלום. שלום.", Problem.MARKS),
        ("One.", "א\nב\nג", Problem.LINES),
        ("One.\nTwo.\nThree.", "א\nב\nג", None),
        ("A sentence of some length is this.", "כן", Problem.LENGTH),
        ("A short one.", "ארוך " * 20, Problem.LENGTH),
        ("No.", "בשום אופן לא.", None),
        ("Hello there.", "Hello there.", Problem.SCRIPT),
        ("Hello, Bob.", "שלום, Bob.", None),
        ("FBI! CIA!", "FBI! CIA!", None),
        ("The FBI is here.", "ה-FBI כאן.", None),
        ("12:30", "12:30", None),
        ("Hello.", "שלום\x00", Problem.CHARACTERS),
        ("Hello.", "שלום\ud83d", Problem.CHARACTERS),
        ("Hello.", "00:01 --> 00:02 שלום", Problem.CHARACTERS),
    ],
)
def test_a_line_is_accepted_only_if(original: str, said: str, expected: Problem | None) -> None:
    """Each of these was seen in files that were reported as translated."""
    assert problem(original, said) is expected


def test_the_original_is_no_translation_where_letters_cannot_tell() -> None:
    """English passes for Spanish by its letters; names and short cries may well be the same."""
    assert problem("I have never been there.", "I have never been there.", target="es") is Problem.UNTRANSLATED
    assert problem("How are you?", "How are you?", target="es") is Problem.UNTRANSLATED
    assert problem("Bob Dylan!", "Bob Dylan!", target="es") is None
    assert problem("O carro é dele, amigo.", "O carro é dele, amigo.", source="pt-PT", target="pt-BR") is None


def test_an_answer_that_repeats_most_lines_is_no_translation() -> None:
    """A small model gave back "Good morning." as Spanish, and each line alone might have been right."""
    asked = {1: "Good morning.", 2: "Bob Dylan!", 3: "Hello."}

    untranslated = dict.fromkeys((1, 2), Problem.UNTRANSLATED)
    assert judged(answer((1, asked[1]), (2, asked[2]), (3, "Hola.")), asked, target="es").problems == untranslated
    assert judged(answer((1, "Buenos días."), (2, asked[2]), (3, "Hola.")), asked, target="es").problems == {}
    assert judged(answer(*asked.items()), asked, source="en-US", target="en-GB").problems == {}


def test_chinese_says_as_much_in_fewer_characters() -> None:
    """A ratio in characters would refuse every good translation into Chinese, and out of it."""
    english, chinese = "I really do not know what you are talking about.", "我真的不知道你在说什么。"

    assert problem(english, chinese, target="zh-Hans") is None
    assert problem(chinese, english, source="zh-Hans", target="en") is None


def test_what_would_break_the_file_is_tidied() -> None:
    """A blank row ends a cue; some models spell line feeds out."""
    assert judged(answer((1, " שלום\r\n\n \nלך ")), {1: "Hello\nyou"}).accepted == {1: "שלום\nלך"}
    assert judged(answer((1, "שלום\\nלך")), {1: "Hello\nyou"}).accepted == {1: "שלום\nלך"}


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(99, 105), st.sampled_from([*SAID.values(), "", "Hello there.", "טוב"])), max_size=8)
)
def test_no_line_ever_gets_the_text_of_another(items: list[tuple[int, str]]) -> None:
    """Whatever comes back: each line is accepted with what was said under its id, or is a problem."""
    checked = judged(answer(*items))

    assert set(checked.accepted) | set(checked.problems) == set(ASKED)
    assert not set(checked.accepted) & set(checked.problems)
    for number, text in checked.accepted.items():
        assert [said for other, said in items if other == number] == [text]
    if {number for number, _ in items} != set(ASKED):
        assert checked.problems
