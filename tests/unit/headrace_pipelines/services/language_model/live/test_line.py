from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import SecretStr

from headrace.errors import ConfigurationError, RateLimited, ServiceError, ServiceUnavailable
from headrace.testing import VirtualClock
from headrace_pipelines.services.language_model.live import Budget, GeminiModel, Ledger, Limits, OpenAiModel, Price
from headrace_pipelines.services.language_model.live.line import checked
from headrace_pipelines.services.language_model.port import (
    BudgetSpent,
    KeyRefused,
    LanguageModel,
    Message,
    Prompt,
    QuotaUsedUp,
)
from headrace_pipelines.services.language_model.stand_in import LocalLanguageModel

PROMPT = Prompt(messages=(Message(text="Say hello."),), max_tokens=50)
SECRET = "sk-very-secret-0123456789"  # pragma: allowlist secret


def both(server: LocalLanguageModel, clock: VirtualClock, key: str = SECRET) -> Iterator[OpenAiModel | GeminiModel]:
    secret = SecretStr(key)
    yield OpenAiModel(url=server.url, model="stand-in", key=secret, clock=clock)
    yield GeminiModel(url=server.url, model="stand-in", key=secret, clock=clock)


async def test_the_key_is_in_no_message_and_no_log(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    """Services repeat the key that they refuse; errors are journalled, shown on pages and pasted into issues."""
    caplog.set_level(logging.DEBUG)
    async with LocalLanguageModel(key="another", clock=clock) as server:
        for model in both(server, clock):
            async with model:
                with pytest.raises(KeyRefused, match=r"Incorrect API key provided: \*\*\*\. Look at the key") as caught:
                    await model.complete(PROMPT)
            text = "".join(traceback.format_exception(caught.value)) + repr(vars(model)) + repr(vars(caught.value))
            assert SECRET not in text

    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("httpcore")]
    assert not [line for line in ours if SECRET in line]


async def test_a_word_for_a_key_is_left_alone_in_what_is_said(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Local servers take any word for a key; with `ollama` struck out, answers about it would be wrong."""
    server.answers("I am ollama.")
    for model in both(server, clock, "ollama"):
        async with model:
            assert (await model.complete(PROMPT)).text == "I am ollama."


async def test_a_key_from_a_file_loses_its_line_end() -> None:
    """The commonest mistake with keys."""
    key = checked(SecretStr(" abc\n"), setting="key")

    assert key is not None
    assert key.get_secret_value() == "abc"
    assert checked(SecretStr("  "), setting="key") is None
    assert checked(None, setting="key") is None


@pytest.mark.parametrize("key", ["a\nb", "clé", "a\x00b"])
async def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    """The HTTP library would show it in its error."""
    with pytest.raises(ConfigurationError, match="copy it again") as caught:
        checked(SecretStr(key), setting="key of the language model")

    assert key not in str(caught.value)


async def test_a_service_that_is_not_there_is_worth_another_attempt(clock: VirtualClock) -> None:
    """A local server that restarts must not fail a film."""
    async with LocalLanguageModel(clock=clock) as server:
        models = list(both(server, clock))

    for model in models:
        async with model:
            with pytest.raises(ServiceUnavailable, match="cannot be reached"):
                await model.complete(PROMPT)


async def test_a_slow_service_is_given_up(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """A connection that hangs for ever holds a slot for ever."""
    server.is_slow(timedelta(hours=1))
    async with OpenAiModel(url=server.url, model="stand-in", timeout=timedelta(seconds=0.05), clock=clock) as model:
        with pytest.raises(ServiceUnavailable, match=r"has not answered within 0\.05 s"):
            await model.complete(PROMPT)


async def test_an_answer_that_breaks_off_is_worth_another_attempt(
    server: LocalLanguageModel, clock: VirtualClock
) -> None:
    """Half an answer must not pass for a whole one."""
    for model in both(server, clock):
        async with model:
            server.hangs_up()
            with pytest.raises(ServiceUnavailable):
                await model.complete(PROMPT)


async def test_what_was_asked_and_spent_is_counted(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """The report of a translation says what it cost."""
    price = Price(prompt=Decimal(1), completion=Decimal(2))
    async with OpenAiModel(url=server.url, model="stand-in", price=price, clock=clock) as model:
        answer = await model.complete(PROMPT)
        server.fails(times=1)
        with pytest.raises(ServiceUnavailable):
            await model.complete(PROMPT)

    counters = model.ledger.counters()
    assert (counters.requests, counters.answers, counters.errors) == (2, 1, {"ServiceUnavailable": 1})
    assert counters.usage == answer.usage
    assert counters.cost == answer.cost == price.of(answer.usage) > 0


async def test_the_budget_is_kept_before_anything_is_sent(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Two clients with one ledger share one budget."""
    ledger = Ledger(Budget(tokens=80))
    async with (
        OpenAiModel(url=server.url, model="stand-in", ledger=ledger, clock=clock) as one,
        GeminiModel(url=server.url, model="stand-in", key=SecretStr("k"), ledger=ledger, clock=clock) as other,
    ):
        await one.complete(PROMPT)
        await other.complete(PROMPT)
        with pytest.raises(BudgetSpent):
            for _ in range(10):
                await one.complete(PROMPT)

    assert ledger.counters().usage.total <= 80
    assert ledger.counters().requests == len(server.asked)
    assert ledger.counters().errors == {"BudgetSpent": 1}


async def test_after_a_429_nobody_asks_before_the_time(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Scenario 24: it waits 34 s, once; the other chunks of the film do not run into the same wall."""
    for model in both(server, clock):
        async with model:
            asked = len(server.asked)
            server.is_busy(retry_after=timedelta(seconds=34))
            with pytest.raises(RateLimited) as first:
                await model.complete(PROMPT)
            clock.advance(timedelta(seconds=4))
            with pytest.raises(RateLimited) as second:
                await model.complete(PROMPT)

            assert (first.value.retry_after, second.value.retry_after) == (timedelta(seconds=34), timedelta(seconds=30))
            assert len(server.asked) == asked + 1

            clock.advance(timedelta(seconds=30))
            await model.complete(PROMPT)


async def test_a_used_up_day_is_over_until_the_next(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Scenario 24: it is terminal for the day, and the service is not asked again before."""
    for model in both(server, clock):
        async with model:
            asked = len(server.asked)
            used_up = server.is_used_up_for_today(retry_after=timedelta(hours=3))
            for _ in range(2):
                with pytest.raises(QuotaUsedUp, match="That was all for the day") as caught:
                    await model.complete(PROMPT)
                assert caught.value.until is not None
            assert len(server.asked) == asked + 1

            used_up.lift()
            clock.advance(timedelta(hours=25))
            await model.complete(PROMPT)


async def test_headers_are_obeyed_before_the_service_has_to_refuse(clock: VirtualClock) -> None:
    """A refused request costs a request of the next minute with some services."""
    async with LocalLanguageModel(requests_per_minute=2, clock=clock) as server:
        for model in both(server, clock):
            async with model:
                clock.advance(timedelta(minutes=2))
                await model.complete(PROMPT)
                await model.complete(PROMPT)
                with pytest.raises(ServiceError) as caught:
                    await model.complete(PROMPT)

                assert isinstance(caught.value, RateLimited)
                assert caught.value.retry_after == timedelta(minutes=1)


async def test_with_the_right_limit_nothing_is_ever_refused(
    clock: VirtualClock, through: object, server: LocalLanguageModel
) -> None:
    """Both sides count on the same clock: a limiter that is a hair too fast shows here."""
    assert callable(through)
    async with LocalLanguageModel(requests_per_minute=3, clock=clock) as strict:
        limits = Limits(requests_per_minute=3, at_once=1)
        async with OpenAiModel(url=strict.url, model="stand-in", limits=limits, clock=clock) as model:

            async def ask_often() -> None:
                for _ in range(10):
                    await model.complete(PROMPT)

            await through(ask_often())

        assert len(strict.asked) == len(strict.questions) == 10


def test_both_are_language_models(clock: VirtualClock) -> None:
    """Whoever needs a model says so by the port and gets either."""
    models: list[LanguageModel] = [
        OpenAiModel(model="a", url="http://127.0.0.1:1", clock=clock),
        GeminiModel(model="b", key=SecretStr("k"), clock=clock),
    ]

    assert [model.name for model in models] == ["a", "b"]
