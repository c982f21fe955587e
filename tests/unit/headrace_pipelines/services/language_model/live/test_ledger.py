from __future__ import annotations

from decimal import Decimal

import pytest

from headrace_pipelines.services.language_model.live.ledger import Budget, Counters, Ledger, Price
from headrace_pipelines.services.language_model.port import BudgetSpent, Usage

PRICE = Price(prompt=Decimal(1), completion=Decimal(10))
HUNDRED = Usage(prompt_tokens=60, completion_tokens=40)


def test_the_price_is_per_million_and_differs_by_direction() -> None:
    """Answers cost several times what questions cost."""
    assert PRICE.of(Usage(prompt_tokens=1_000_000, completion_tokens=100_000)) == Decimal(2)


def test_a_request_that_could_exceed_the_budget_is_not_sent() -> None:
    """A hard budget that is checked afterwards is no budget."""
    ledger = Ledger(Budget(tokens=250))
    ledger.answered(Usage(prompt_tokens=200), None)

    with pytest.raises(BudgetSpent, match=r"250 tokens: 200 are spent.*may take 100.*raise the budget"):
        ledger.reserve(HUNDRED, PRICE)


def test_what_is_under_way_counts() -> None:
    """Ten requests at once must not each see the same money."""
    ledger = Ledger(Budget(tokens=150))

    with ledger.reserve(HUNDRED, None), pytest.raises(BudgetSpent):
        ledger.reserve(HUNDRED, None)
    with ledger.reserve(HUNDRED, None):
        pass


def test_money_is_a_budget_too() -> None:
    """People think in money; tokens differ in price by model."""
    ledger = Ledger(Budget(cost=Decimal("0.0005")))

    with ledger.reserve(HUNDRED, PRICE), pytest.raises(BudgetSpent, match=r"0\.0005: 0\.0000 is spent"):
        ledger.reserve(HUNDRED, PRICE)


def test_a_failed_request_gives_back_what_it_reserved() -> None:
    """Otherwise a service that is down for an hour eats the budget."""
    ledger = Ledger(Budget(tokens=100))

    with pytest.raises(ConnectionError), ledger.reserve(HUNDRED, PRICE):
        raise ConnectionError

    with ledger.reserve(HUNDRED, PRICE):
        pass


def test_counters_go_on_where_they_were() -> None:
    """A daily budget outlives a restart."""
    first = Ledger()
    first.asked()
    first.answered(HUNDRED, Decimal(3))
    first.failed("RateLimited")

    second = Ledger(Budget(tokens=150), spent=first.counters())

    assert second.counters() == Counters(
        requests=1, answers=1, usage=HUNDRED, cost=Decimal(3), errors={"RateLimited": 1}
    )
    with pytest.raises(BudgetSpent):
        second.reserve(HUNDRED, None)
