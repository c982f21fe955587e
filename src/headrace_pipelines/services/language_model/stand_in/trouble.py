"""What a stand-in may be told to do wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from headrace_pipelines.services.language_model.stand_in.question import Question

Items = list[tuple[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An HTTP error instead of an answer."""

    status: int
    message: str
    code: str = ""
    """As OpenAI's servers name it."""
    kind: str = ""
    param: str = ""
    """The part of the request that is to blame."""
    quota: str = ""
    """As Gemini names what is used up."""
    reason: str = ""
    """As Gemini names what is wrong."""
    retry_after: timedelta | None = None


class Trouble:
    """Something that goes wrong a number of times, or until it is lifted."""

    def __init__(
        self,
        *,
        times: int | None,
        when: Callable[[Question], bool],
        refusal: Refusal | None = None,
        items: Callable[[Items], Items] | None = None,
        text: Callable[[str], str] | None = None,
        tokens: int | None = None,
        refused: str = "",
        pause: timedelta | None = None,
        hangs_up: bool = False,
    ) -> None:
        self.times = times
        """How often more; None: until it is lifted."""
        self.happened = 0
        self.refusal = refusal
        self.items = items
        self.text = text
        self.tokens = tokens
        self.refused = refused
        self.pause = pause
        self.hangs_up = hangs_up
        self._when = when

    def strikes(self, question: Question) -> bool:
        if self.times == 0 or not self._when(question):
            return False
        if self.times is not None:
            self.times -= 1
        self.happened += 1
        return True

    def lift(self) -> None:
        """From now on all is well."""
        self.times = 0


def without(number: int) -> Callable[[Items], Items]:
    return lambda items: [item for item in items if item[0] != number]


def twice(number: int) -> Callable[[Items], Items]:
    return lambda items: [item for item in items for _ in range(1 + (item[0] == number))]


def merged(number: int) -> Callable[[Items], Items]:
    """The line and the one after it as one, which is what models do when a sentence runs over both."""

    def merge(items: Items) -> Items:
        at = next((index for index, item in enumerate(items) if item[0] == number), None)
        if at is None or at + 1 >= len(items):
            return items
        return [*items[:at], (number, f"{items[at][1]} {items[at + 1][1]}"), *items[at + 2 :]]

    return merge


def changed(number: int, text: str) -> Callable[[Items], Items]:
    return lambda items: [(each, text if each == number else said) for each, said in items]
