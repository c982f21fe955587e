"""What was asked, what it took, and what may still be spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from headrace_pipelines.services.language_model.port import BudgetSpent, Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Per million tokens, in whatever currency the budget is."""

    prompt: Decimal
    completion: Decimal

    def of(self, usage: Usage) -> Decimal:
        return (self.prompt * usage.prompt_tokens + self.completion * usage.completion_tokens) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Hard limits; None: no limit."""

    tokens: int | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    requests: int = 0
    answers: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    errors: Mapping[str, int] = field(default_factory=dict)
    """By the name of the error's class."""


class Ledger:
    """Several clients may share one, and with it one budget."""

    def __init__(self, budget: Budget | None = None, *, spent: Counters | None = None) -> None:
        """``spent`` is what counts already, for a budget that outlives the process."""
        begun = spent or Counters()
        self._budget = budget or Budget()
        self._requests = begun.requests
        self._answers = begun.answers
        self._usage = begun.usage
        self._cost = begun.cost
        self._errors = Counter(begun.errors)
        self._reserved = Usage()
        self._reserved_cost = Decimal(0)

    def counters(self) -> Counters:
        return Counters(
            requests=self._requests,
            answers=self._answers,
            usage=self._usage,
            cost=self._cost,
            errors=dict(self._errors),
        )

    def reserve(self, expected: Usage, price: Price | None) -> Reservation:
        """Put aside what a request may cost at most; raises ``BudgetSpent`` if that is not there."""
        cost = price.of(expected) if price else Decimal(0)
        tokens = self._usage.total + self._reserved.total + expected.total
        if self._budget.tokens is not None and tokens > self._budget.tokens:
            raise self._spent(f"{self._budget.tokens} tokens", f"{self._usage.total} are spent", f"{expected.total}")
        if self._budget.cost is not None and self._cost + self._reserved_cost + cost > self._budget.cost:
            raise self._spent(f"{self._budget.cost}", f"{self._cost:.4f} is spent", f"{cost:.4f}")
        self._reserved += expected
        self._reserved_cost += cost
        return Reservation(self, expected, cost)

    def _spent(self, budget: str, spent: str, wanted: str) -> BudgetSpent:
        return BudgetSpent(
            f"the budget for language models is {budget}: {spent}, and the next request may take {wanted}. "
            "Nothing was asked; raise the budget to go on"
        )

    def release(self, expected: Usage, cost: Decimal) -> None:
        self._reserved = Usage(
            prompt_tokens=self._reserved.prompt_tokens - expected.prompt_tokens,
            completion_tokens=self._reserved.completion_tokens - expected.completion_tokens,
        )
        self._reserved_cost -= cost

    def asked(self) -> None:
        self._requests += 1

    def answered(self, usage: Usage, cost: Decimal | None) -> None:
        self._answers += 1
        self._usage += usage
        self._cost += cost or Decimal(0)

    def failed(self, error: str) -> None:
        self._errors[error] += 1


class Reservation:
    def __init__(self, ledger: Ledger, expected: Usage, cost: Decimal) -> None:
        self._ledger = ledger
        self._expected = expected
        self._cost = cost

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._ledger.release(self._expected, self._cost)
