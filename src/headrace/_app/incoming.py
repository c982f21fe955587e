"""Webhooks that come in: who sent them is checked, what they say becomes an event."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

from headrace._authoring.pipeline import Pipeline, Registry
from headrace._authoring.webhook import AUTHORIZATION, EventDraft, Webhook, WebhookCall
from headrace._base import log, webhook
from headrace._base.clock import Instant
from headrace._base.codec import Shape
from headrace.errors import ConfigurationError, DefinitionError, ValueRefused, WebhookRefused

_PLAIN = Shape(Any, where="data of an event that a webhook became")
_LONGEST_ID = 255


@dataclass(frozen=True, kw_only=True)
class WebhookAnswer:
    """What became of a webhook: an event in the log, or nothing, because the pipeline has no interest in it."""

    webhook: str
    accepted: bool
    event: str | None
    position: int | None


@dataclass(frozen=True, kw_only=True)
class Told:
    """A webhook that may be believed, and the event that it becomes, if any."""

    webhook: str
    id: str
    draft: EventDraft | None

    @property
    def event_id(self) -> str | None:
        """The same for the same webhook; None where nothing tells it from others."""
        if self.draft is not None and self.draft.id is not None:
            return self.draft.id
        return f"webhooks/{self.webhook}/{self.id}" if self.id else None

    @property
    def plain_data(self) -> Any:
        assert self.draft is not None
        return json.loads(_PLAIN.encode(self.draft.data))


class Incoming:
    def __init__(self, registry: Registry, settings_of: Callable[[Pipeline], object]) -> None:
        self._registry = registry
        self._settings_of = settings_of

    def check(self) -> None:
        """At the start: a secret that is none is an error, and a webhook without one, which nobody can send, a warning."""
        for name, (pipeline, hook) in self._registry.webhooks.items():
            if hook.setting is None:
                continue
            known = self._known(pipeline, hook)
            if not known:
                log.warning("webhook.not_configured", webhook=name, setting=_variable(pipeline, hook))
            elif hook.secret is not None:
                _check_secrets(known, _variable(pipeline, hook))

    def asks_for_own_token(self, name: str) -> bool:
        """Whether it is guarded by this server's tokens and by nothing of its own."""
        return self._registry.webhooks[name][1].setting is None

    def read(self, name: str, headers: Mapping[str, str], body: bytes, now: Instant) -> Told:
        """Check who sent it, then let the pipeline say what it means. ``name`` is a full one.

        Raises ``WebhookRefused`` for what is not from the sender, ``ValueRefused`` for what cannot be understood.
        """
        pipeline, hook = self._registry.webhooks[name]
        given = {key.lower(): value for key, value in headers.items()}
        try:
            id = self._check_sender(pipeline, hook, given, body, now)
        except WebhookRefused as refused:
            log.warning("webhook.refused", webhook=name, reason=str(refused))
            raise
        _check_id(id)
        call = WebhookCall(
            body=_parsed(body),
            id=id,
            headers=MappingProxyType({key: value for key, value in given.items() if key not in (AUTHORIZATION, hook.header, "cookie")}),
        )  # fmt: skip
        return Told(webhook=name, id=id, draft=_draft(name, hook, call))

    def _check_sender(
        self, pipeline: Pipeline, hook: Webhook, headers: Mapping[str, str], body: bytes, now: Instant
    ) -> str:
        if hook.setting is None:
            return headers.get(webhook.ID, "")
        known = self._known(pipeline, hook)
        if not known:
            log.warning("webhook.not_configured", webhook=hook.name, setting=_variable(pipeline, hook))
            raise WebhookRefused("this webhook has no secret here yet; whoever runs this server has to set it")
        if hook.secret is not None:
            return webhook.verify(headers, body, secrets=known, now=now)
        _check_token(hook, headers, known)
        return headers.get(webhook.ID, "")

    def _known(self, pipeline: Pipeline, hook: Webhook) -> list[str]:
        """The secrets that the settings name."""
        assert hook.setting is not None
        value = getattr(self._settings_of(pipeline), hook.setting)
        text = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        return [one for one in re.split(r"[\s,]+", text or "") if one]


def _check_secrets(known: list[str], variable: str) -> None:
    try:
        webhook.sign(id="check", at=0, body=b"", secrets=known)
    except ConfigurationError as error:
        raise ConfigurationError(f"{variable}: {error}") from None


def _check_token(hook: Webhook, headers: Mapping[str, str], known: list[str]) -> None:
    given = headers.get(hook.header, "").strip()
    if hook.header == AUTHORIZATION:
        kind, _, given = given.partition(" ")
        given = given.strip() if kind.lower() == "bearer" else ""
    # All are compared, whatever comes of the first, so that the time taken tells nothing.
    found = [hmac.compare_digest(given.encode("utf-8", "replace"), one.encode()) for one in known]
    if not any(found):
        where = "as 'Authorization: Bearer TOKEN'" if hook.header == AUTHORIZATION else f"in the header {hook.header!r}"
        raise WebhookRefused(f"the token of the webhook is missing or wrong; send it {where}")


def _check_id(id: str) -> None:
    if len(id) > _LONGEST_ID or not id.isprintable() or id != id.strip():
        raise ValueRefused(f"the header {webhook.ID!r} is not up to {_LONGEST_ID} visible characters")


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ValueRefused("the body of the webhook is no JSON in UTF-8") from None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(text)


def _draft(name: str, hook: Webhook, call: WebhookCall) -> EventDraft | None:
    try:
        draft = hook.to_event(call)
    except ValueRefused:
        raise
    except Exception as error:
        # The sender learns the kind alone: what an error says may be meant for the pipeline's author.
        kind = type(error).__name__
        log.error("webhook.not_understood", webhook=name, id=call.id, error=kind, detail=str(error))
        raise ValueRefused(f"webhook {name!r} cannot make an event of this body: {kind}") from error
    if draft is not None and not isinstance(draft, EventDraft):
        raise DefinitionError(
            f"Webhook({hook.name!r}): to_event returned {type(draft).__name__}; it has to be an EventDraft, or None"
        )
    return draft


def _variable(pipeline: Pipeline, hook: Webhook) -> str:
    return f"HEADRACE_{pipeline.name}_{hook.setting}".upper()
