"""What asking any media server has in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx2
from pydantic import JsonValue, SecretStr

from headrace.errors import ConfigurationError, RateLimited, ServiceRefused, ServiceUnavailable

_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    server: str
    """As messages call it."""
    client: httpx2.AsyncClient

    @classmethod
    def to(cls, server: str, url: str, token: SecretStr, headers: Mapping[str, str], timeout: timedelta) -> Line:
        if not token.get_secret_value().strip():
            raise ConfigurationError(
                f"{server} needs a token; make an API key in its dashboard and put it in the settings"
            )
        base = url.rstrip("/")
        client = httpx2.AsyncClient(
            base_url=base, headers={"accept": "application/json", **headers}, timeout=timeout.total_seconds()
        )
        return cls(server=f"{server} at {base}", client=client)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, JsonValue] | None = None,
        also: Sequence[int] = (),
    ) -> httpx2.Response:
        """An answer of 2xx, or of one of ``also``."""
        with self._transport_errors_named():
            response = await self.client.request(method, path, params=list(query), json=body)
        status = response.status_code
        if response.is_success or status in also:
            return response
        said = f"{self.server} answered {status} to {method} {path}: {' '.join(response.text[:_SHOWN].split())!r}"
        if status in {401, 403}:
            raise ServiceRefused(f"{said}. Look at its token")
        if status == 429:
            seconds = response.headers.get("retry-after", "")
            known = re.fullmatch(r"\d{1,6}", seconds)
            raise RateLimited(said, retry_after=timedelta(seconds=int(seconds)) if known else None)
        if status >= 500 or status == 408:
            raise ServiceUnavailable(said)
        raise ServiceRefused(said)

    @contextmanager
    def _transport_errors_named(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TimeoutException as error:
            raise ServiceUnavailable(f"{self.server} did not answer in time") from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise ServiceUnavailable(
                f"{self.server} cannot be reached: {str(error) or type(error).__name__}"
            ) from error
