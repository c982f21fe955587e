"""What the engine has done since it was opened: plain numbers, since the hot path pays for each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


class Tally:
    __slots__ = ("attempts_started", "retries", "runs_begun", "runs_ended", "steps_not_ok", "steps_ok")

    def __init__(self) -> None:
        self.attempts_started = 0
        self.retries = 0
        self.steps_ok = 0
        self.steps_not_ok: Counter[str] = Counter()
        """By outcome. Apart from the others, since asking an enum for its hash costs more than counting."""
        self.runs_begun = 0
        self.runs_ended: Counter[str] = Counter()
        """By state."""

    @property
    def steps_ended(self) -> Mapping[str, int]:
        return {"ok": self.steps_ok, "error": self.steps_not_ok["error"], "cancelled": self.steps_not_ok["cancelled"]}
