"""Signatures of webhooks after Standard Webhooks, https://www.standardwebhooks.com.

The signature is an HMAC-SHA256 over ``id.timestamp.body`` with the secret that both sides know. To change a secret without a gap the
sender signs with the new and the old one for a while, or the receiver accepts both.
"""

from __future__ import annotations

import base64
import hmac
import secrets as chance
from collections.abc import Mapping, Sequence
from datetime import timedelta
from hashlib import sha256

from headrace._base.clock import Instant
from headrace.errors import ConfigurationError, ValueRefused, WebhookRefused

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
TOLERANCE = timedelta(minutes=5)
_PREFIX = "whsec_"
_VERSION = "v1"
_SECRET_BYTES = 24
_SECOND = 1_000_000


def new_secret() -> str:
    return _PREFIX + base64.b64encode(chance.token_bytes(_SECRET_BYTES)).decode()


def sign(*, id: str, at: Instant, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of a webhook; ``id`` is the same in every attempt to deliver it."""
    if not id or "." in id or not id.isascii() or not id.isprintable():
        raise ValueRefused(f"{id!r} cannot be the id of a webhook: it is plain ASCII without a dot")
    timestamp = str(at // _SECOND)
    signatures = [f"{_VERSION},{_signature(id, timestamp, body, secret)}" for secret in secrets]
    return {ID: id, TIMESTAMP: timestamp, SIGNATURE: " ".join(signatures)}


def verify(
    headers: Mapping[str, str],
    body: bytes,
    *,
    secrets: Sequence[str],
    now: Instant,
    tolerance: timedelta = TOLERANCE,
) -> str:
    """The id of a webhook whose sender knows one of the secrets; raises ``WebhookRefused`` otherwise.

    ``body`` is what came over the wire, byte for byte.
    """
    given = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not given.get(name)]
    if missing:
        raise WebhookRefused(f"the webhook is not signed: the header {missing[0]!r} is missing")
    id, timestamp = given[ID], given[TIMESTAMP]
    _check_time(timestamp, now, tolerance)
    expected = [_signature(id, timestamp, body, secret).encode() for secret in secrets]
    claimed = [
        value.encode("utf-8", "replace")
        for version, _, value in (one.partition(",") for one in given[SIGNATURE].split())
        if version == _VERSION
    ]
    # All are compared, whatever comes of the first, so that the time taken tells nothing.
    found = [hmac.compare_digest(one, other) for one in expected for other in claimed]
    if not any(found):
        raise WebhookRefused("the signature of the webhook fits none of the secrets")
    return id


def _check_time(timestamp: str, now: Instant, tolerance: timedelta) -> None:
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        raise WebhookRefused("the time of the webhook is not a number of seconds")
    if abs(now // _SECOND - int(timestamp)) > tolerance.total_seconds():
        raise WebhookRefused("the webhook was signed too long ago or too far ahead; compare the clocks of both sides")


def _signature(id: str, timestamp: str, body: bytes, secret: str) -> str:
    signed = b".".join((id.encode(), timestamp.encode(), body))
    return base64.b64encode(hmac.digest(_key(secret), signed, sha256)).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not key:
        raise ConfigurationError(f"a webhook secret is {_PREFIX!r} and Base64; this one is not")
    return key
