"""Signatures of webhooks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace._base.webhook import ID, SIGNATURE, TIMESTAMP, new_secret, sign, verify
from headrace.errors import ConfigurationError, ValueRefused, WebhookRefused

AT = 1_614_265_330_000_000
BODY = b'{"test": 2432232314}'
# The vector that the Standard Webhooks project publishes with its libraries.
PUBLISHED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # pragma: allowlist secret
PUBLISHED_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
PUBLISHED_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="  # pragma: allowlist secret

OLD, NEW = new_secret(), new_secret()
SECOND = 1_000_000


def test_the_published_vector() -> None:
    """Others verify what is signed here, and sign what is verified here."""
    headers = sign(id=PUBLISHED_ID, at=AT, body=BODY, secrets=[PUBLISHED])

    assert headers == {ID: PUBLISHED_ID, TIMESTAMP: "1614265330", SIGNATURE: PUBLISHED_SIGNATURE}
    assert verify(headers, BODY, secrets=[PUBLISHED], now=AT) == PUBLISHED_ID


@pytest.mark.parametrize("signing,knowing", [([OLD], [OLD, NEW]), ([OLD, NEW], [NEW]), ([OLD, NEW], [OLD])])
def test_a_secret_is_changed_without_a_gap(signing: list[str], knowing: list[str]) -> None:
    """Two sides never change at the same moment."""
    headers = sign(id="a", at=AT, body=BODY, secrets=signing)

    assert verify(headers, BODY, secrets=knowing, now=AT) == "a"


def signed(**changed: str) -> dict[str, str]:
    return sign(id="a", at=AT, body=BODY, secrets=[OLD]) | {name.replace("_", "-"): to for name, to in changed.items()}


FORGED = [
    (signed(), b"other"),
    (signed(webhook_id="b"), BODY),
    (signed(webhook_timestamp="1614265331"), BODY),
    (signed(webhook_signature="v1,AAAA"), BODY),
    (signed(webhook_signature="v1," + "ü"), BODY),
    (signed(webhook_signature="v2" + signed()[SIGNATURE][2:]), BODY),
    (signed(webhook_signature=signed()[SIGNATURE].replace("v1,", "v1a,")), BODY),
    (signed(webhook_signature=""), BODY),
    (signed(webhook_timestamp=""), BODY),
    (signed(webhook_timestamp="now"), BODY),
    (signed(webhook_timestamp="-1614265330"), BODY),
    (signed(webhook_timestamp="٣"), BODY),
    ({}, BODY),
    (sign(id="a", at=AT, body=BODY, secrets=[NEW]), BODY),
]


@pytest.mark.parametrize("headers,body", FORGED)
def test_what_was_forged_is_refused(headers: dict[str, str], body: bytes) -> None:
    """Whoever knows the address of a webhook can post to it."""
    with pytest.raises(WebhookRefused):
        verify(headers, body, secrets=[OLD], now=AT)


@pytest.mark.parametrize("seconds,good", [(0, True), (300, True), (-300, True), (301, False), (-301, False)])
def test_an_old_one_is_refused(seconds: int, good: bool) -> None:
    """A webhook that was listened to once could be sent again for ever."""
    now = AT + seconds * SECOND
    if good:
        verify(signed(), BODY, secrets=[OLD], now=now)
    else:
        with pytest.raises(WebhookRefused, match="clocks"):
            verify(signed(), BODY, secrets=[OLD], now=now)


def test_the_tolerance_can_be_less() -> None:
    """Who keeps no ids of what has come may want it short."""
    with pytest.raises(WebhookRefused):
        verify(signed(), BODY, secrets=[OLD], now=AT + 2 * SECOND, tolerance=timedelta(seconds=1))


def test_names_of_headers_are_written_in_any_case() -> None:
    """Proxies change it."""
    headers = {name.title(): value for name, value in signed().items()}

    assert verify(headers, BODY, secrets=[OLD], now=AT) == "a"


def test_without_a_secret_nothing_is_good() -> None:
    """An empty list must not mean that nobody has to sign."""
    with pytest.raises(WebhookRefused):
        verify(signed(), BODY, secrets=[], now=AT)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64!", "whsec_ü"])
def test_a_broken_secret_is_refused_without_being_shown(secret: str) -> None:
    """It may be nearly right."""
    with pytest.raises(ConfigurationError) as refused:
        sign(id="a", at=AT, body=BODY, secrets=[secret])

    assert "base64!" not in str(refused.value)


@pytest.mark.parametrize("id", ["", "a.b", "ü", "a\n"])
def test_ids_that_could_be_read_in_two_ways_are_not_signed(id: str) -> None:
    """The dot parts what is signed."""
    with pytest.raises(ValueRefused):
        sign(id=id, at=AT, body=BODY, secrets=[OLD])


def test_secrets_differ() -> None:
    """And they are as long as the standard wants them."""
    assert OLD != NEW
    assert len(OLD) == len("whsec_") + 32
