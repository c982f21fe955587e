"""What a test tells of a language model: what it says, and what goes wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from headrace_pipelines.services.language_model.stand_in.question import Question
from headrace_pipelines.services.language_model.stand_in.trouble import (
    Refusal,
    Trouble,
    changed,
    merged,
    twice,
    without,
)


class Story:
    """Each trouble happens so often, or until it is lifted; ``holding`` limits it to questions with this text, ``line`` to
    those for the line with this id, ``model`` to those to this model.
    """

    def __init__(self) -> None:
        self._troubles: list[Trouble] = []
        self._scripts: list[tuple[str, str]] = []

    def answers(self, text: str, *, holding: str = "") -> None:
        """Say exactly this."""
        self._scripts.append((holding, text))

    def drops(self, number: int, *, times: int | None = 1, model: str = "") -> Trouble:
        """Leave out the line with this id."""
        return self._happens(Trouble(times=times, when=_about(line=number, model=model), items=without(number)))

    def repeats(self, number: int, *, times: int | None = 1, model: str = "") -> Trouble:
        """Answer the line with this id twice."""
        return self._happens(Trouble(times=times, when=_about(line=number, model=model), items=twice(number)))

    def merges(self, number: int, *, times: int | None = 1, model: str = "") -> Trouble:
        """Put the line after this one into it."""
        return self._happens(Trouble(times=times, when=_about(line=number, model=model), items=merged(number)))

    def says(self, number: int, text: str, *, times: int | None = 1, model: str = "") -> Trouble:
        """Answer the line with this id so."""
        return self._happens(Trouble(times=times, when=_about(line=number, model=model), items=changed(number, text)))

    def is_cut(self, tokens: int, *, times: int | None = 1, holding: str = "") -> Trouble:
        """Stop after so many tokens, and say so."""
        return self._happens(Trouble(times=times, when=_about(holding), tokens=tokens))

    def fences(self, *, times: int | None = 1) -> Trouble:
        """Wrap the answer in a Markdown code fence."""
        return self._happens(Trouble(times=times, when=_about(), text=lambda text: f"```json\n{text}\n```"))

    def talks(self, text: str = "Certainly! Here you are.", *, times: int | None = 1) -> Trouble:
        """Say this instead of JSON."""
        return self._happens(Trouble(times=times, when=_about(), text=lambda _: text))

    def declines(self, *, times: int | None = 1, holding: str = "", why: str = "I cannot help with that.") -> Trouble:
        """Refuse for what is in the question."""
        return self._happens(Trouble(times=times, when=_about(holding), refused=why))

    def is_busy(self, *, times: int | None = 1, retry_after: timedelta | None = timedelta(seconds=34)) -> Trouble:
        refusal = Refusal(
            status=429,
            code="rate_limit_exceeded",
            kind="requests",
            message="Rate limit reached",
            quota="GenerateRequestsPerMinutePerProjectPerModel",
            retry_after=retry_after,
        )
        return self._happens(Trouble(times=times, when=_about(), refusal=refusal))

    def is_unpaid(self, *, times: int | None = None) -> Trouble:
        """Nothing more until somebody pays."""
        message = "You exceeded your current quota, please check your plan and billing details."
        refusal = Refusal(
            status=429, code="insufficient_quota", kind="insufficient_quota", message=message, quota="FreeTierPerDay"
        )
        return self._happens(Trouble(times=times, when=_about(), refusal=refusal))

    def is_used_up_for_today(
        self, *, times: int | None = None, retry_after: timedelta | None = timedelta(hours=3)
    ) -> Trouble:
        refusal = Refusal(
            status=429,
            code="rate_limit_exceeded",
            kind="requests",
            message="Rate limit reached on requests per day (RPD): Limit 200, Used 200.",
            quota="GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            retry_after=retry_after,
        )
        return self._happens(Trouble(times=times, when=_about(), refusal=refusal))

    def fails(
        self,
        *,
        times: int | None = None,
        holding: str = "",
        line: int | None = None,
        status: int = 500,
        model: str = "",
    ) -> Trouble:
        refusal = Refusal(status=status, kind="server_error", message="The server had an error")
        return self._happens(Trouble(times=times, when=_about(holding, line=line, model=model), refusal=refusal))

    def hangs_up(self, *, times: int | None = 1) -> Trouble:
        """Close the connection in the middle of the answer."""
        return self._happens(Trouble(times=times, when=_about(), hangs_up=True))

    def is_slow(self, pause: timedelta, *, times: int | None = None) -> Trouble:
        return self._happens(Trouble(times=times, when=_about(), pause=pause))

    def _happens(self, trouble: Trouble) -> Trouble:
        self._troubles.append(trouble)
        return trouble


def _about(holding: str = "", *, line: int | None = None, model: str = "") -> Callable[[Question], bool]:
    def about(question: Question) -> bool:
        if model and question.model != model:
            return False
        if line is not None and line not in question.ids:
            return False
        return holding in question.prompt

    return about
