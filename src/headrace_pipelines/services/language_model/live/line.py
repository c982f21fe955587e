"""One service at one address: what both protocols share of asking it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx2
from pydantic import JsonValue, SecretStr

from headrace.errors import ConfigurationError, RateLimited, ServiceError, ServiceUnavailable, UnexpectedAnswer
from headrace_pipelines.services.clock import Clock, LoopClock
from headrace_pipelines.services.language_model.live.ledger import Ledger, Price
from headrace_pipelines.services.language_model.live.limiter import Limiter, Limits
from headrace_pipelines.services.language_model.live.pause import duration, retry_after, sent_at, until_reset
from headrace_pipelines.services.language_model.port import Answer, Prompt, QuotaUsedUp, Usage
from headrace_pipelines.services.language_model.tokens import estimated_tokens

_SHOWN = 200
_PER_MESSAGE = 4
_SHORTEST_SECRET = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, before anybody has judged it."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, JsonValue] | None
    """None: it is no JSON object."""
    text: str
    """Its beginning, without the key; for messages."""

    @property
    def error(self) -> dict[str, JsonValue]:
        """The error that the body tells of; empty if it tells of none."""
        found = (self.body or {}).get("error")
        if isinstance(found, dict):
            return found
        return {"message": found} if isinstance(found, str) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a service is reached; several clients may share the limiter and the ledger."""

    service: str
    """As messages call it."""
    client: httpx2.AsyncClient
    limiter: Limiter
    ledger: Ledger
    price: Price | None
    key: SecretStr | None

    @classmethod
    def to(
        cls,
        url: str,
        *,
        service: str,
        key: SecretStr | None,
        headers: Mapping[str, str],
        limits: Limits | None,
        ledger: Ledger | None,
        price: Price | None,
        timeout: timedelta,
        clock: Clock | None,
    ) -> Line:
        return cls(
            service=service,
            client=httpx2.AsyncClient(base_url=url, headers=dict(headers), timeout=timeout.total_seconds()),
            limiter=Limiter(limits or Limits(), clock or LoopClock()),
            ledger=ledger or Ledger(),
            price=price,
            key=key,
        )

    async def close(self) -> None:
        await self.client.aclose()

    async def ask(
        self,
        prompt: Prompt,
        path: str,
        body: Mapping[str, JsonValue],
        *,
        judge: Callable[[Reply], ServiceError | None],
        read: Callable[[Reply], Answer],
    ) -> Answer:
        """Ask once, at the pace and within the budget; ``judge`` finds what is wrong, ``read`` what is right."""
        expected = Usage(prompt_tokens=_size(prompt), completion_tokens=prompt.max_tokens or 0)
        async with self._counted(), self.limiter.turn(expected.total) as turn:
            with self.ledger.reserve(expected, self.price):
                self.ledger.asked()
                reply = await self._post(path, body)
                self._obey(reply)
                if (error := judge(reply)) is not None:
                    self._remember(error, reply)
                    raise error
                answer = read(reply)
                turn.used(answer.usage.total or expected.total)
                self.ledger.answered(answer.usage, answer.cost)
                return answer

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        try:
            yield
        except ServiceError as error:
            self.ledger.failed(type(error).__name__)
            raise

    async def _post(self, path: str, body: Mapping[str, JsonValue]) -> Reply:
        try:
            response = await self.client.post(path, json=body)
        except httpx2.TimeoutException as error:
            seconds = self.client.timeout.read
            raise ServiceUnavailable(f"{self.service} has not answered within {seconds:g} s") from error
        except httpx2.TransportError as error:
            raise ServiceUnavailable(f"{self.service} cannot be reached: {self._clean(str(error))}") from error
        except httpx2.DecodingError as error:
            raise UnexpectedAnswer(f"{self.service} answered what cannot be decompressed") from error
        text = self._clean(response.text[:_SHOWN])
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(status=response.status_code, headers=headers, body=self._object(response), text=text)

    def _object(self, response: httpx2.Response) -> dict[str, JsonValue] | None:
        try:
            body = json.loads(response.text) if response.content else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(body, dict):
            return None
        if "error" in body:
            body["error"] = json.loads(self._clean(json.dumps(body["error"])))
        return body

    def _clean(self, text: str) -> str:
        # Services like to repeat the key that they refuse; it belongs in no message, log or journal.
        key = self.key.get_secret_value() if self.key else ""
        # Local servers take any word for a key, and such a word is no secret but may be part of others.
        return text.replace(key, "***") if len(key) >= _SHORTEST_SECRET else text

    def _obey(self, reply: Reply) -> None:
        if reply.status == 200 and (pause := until_reset(reply.headers)) is not None:
            self.limiter.hold(pause)
        tokens = reply.headers.get("x-ratelimit-remaining-tokens", "")
        reset = duration(reply.headers.get("x-ratelimit-reset-tokens", ""))
        if tokens.isdecimal() and reset is not None:
            self.limiter.tokens_left(int(tokens), reset)

    def _remember(self, error: ServiceError, reply: Reply) -> None:
        if isinstance(error, RateLimited) and error.retry_after is not None:
            self.limiter.hold(error.retry_after)
        if isinstance(error, QuotaUsedUp) and error.until is not None and (sent := sent_at(reply.headers)):
            self.limiter.close(error, error.until - sent)


def pause_of(reply: Reply) -> timedelta | None:
    """How long the headers ask for patience."""
    return retry_after(reply.headers) or until_reset(reply.headers)


def away(reply: Reply, said: str) -> ServiceUnavailable:
    """The service has troubles of its own; some say how long."""
    pause = pause_of(reply)
    return RateLimited(said, retry_after=pause) if pause else ServiceUnavailable(said)


def checked(key: SecretStr | None, *, setting: str) -> SecretStr | None:
    """The key without the line end that files give it; raises ``ConfigurationError`` for what no header can carry."""
    value = key.get_secret_value().strip() if key else ""
    if not value.isascii() or not value.isprintable():
        raise ConfigurationError(f"the {setting} has characters that no key has; copy it again")
    return SecretStr(value) if value else None


def _size(prompt: Prompt) -> int:
    texts = (prompt.system, *(message.text for message in prompt.messages))
    return sum(estimated_tokens(text) + _PER_MESSAGE for text in texts if text)
