"""``Webhook``: what other systems tell by a request becomes an event."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headrace._jobs.lifecycle import JobRef
from headrace.errors import DefinitionError

if TYPE_CHECKING:
    from pydantic import BaseModel

AUTHORIZATION = "authorization"


@dataclass(frozen=True, kw_only=True)
class WebhookCall:
    """What has come: ``body`` is its JSON, ``id`` the sender's own name for it, empty where it has none; names of headers are lower case."""

    body: Any
    id: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class EventDraft:
    """The event that a webhook becomes. Without an ``id`` it gets one of the webhook's, so that the same webhook is the same event."""

    topic: str
    data: object = None
    subject: str | JobRef = field(kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    time: datetime | None = field(default=None, kw_only=True)


class Webhook:
    """Takes ``POST /webhooks/<pipeline>.<name>`` and publishes what ``to_event`` makes of it; None: it is of no interest, and the sender is told so.

    ``to_event`` is a pure function of the call: the same webhook that is sent again has to become the same event.

    ``secret`` and ``token`` name fields of the pipeline's settings. With ``secret`` the sender has to sign as Standard Webhooks says;
    several secrets, with spaces or commas between them, are all good. With ``token`` it has to send that text as a bearer token, or
    bare in another ``header``. With neither it needs a token of this server, of scope ``operate``.
    """

    def __init__(
        self,
        name: str,
        to_event: Callable[[WebhookCall], EventDraft | None],
        *,
        secret: str | None = None,
        token: str | None = None,
        header: str = AUTHORIZATION,
    ) -> None:
        self.name = name
        self.to_event = to_event
        self.secret = secret
        self.token = token
        self.header = header.lower()
        self._check()

    def _check(self) -> None:
        where = f"Webhook({self.name!r})"
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", self.name):
            raise DefinitionError(f"{where}: a name is lower-case letters, digits, dashes and underscores")
        if not callable(self.to_event) or inspect.iscoroutinefunction(self.to_event):
            raise DefinitionError(
                f"{where}: to_event has to be a plain function of the call; what takes time is for whoever handles the event"
            )
        if self.secret is not None and self.token is not None:
            raise DefinitionError(f"{where}: give secret= for signed webhooks or token= for others, not both")
        if self.header != AUTHORIZATION and self.token is None:
            raise DefinitionError(f"{where}: header= says where the token stands, so it goes with token=")
        if not re.fullmatch(r"[a-z0-9-]+", self.header):
            raise DefinitionError(f"{where}: header={self.header!r} is no name of a header")

    @property
    def setting(self) -> str | None:
        """The field of the pipeline's settings that guards it."""
        return self.secret or self.token

    def check_setting(self, settings: type[BaseModel] | None) -> None:
        if self.setting is None or (settings is not None and self.setting in settings.model_fields):
            return
        raise DefinitionError(
            f"Webhook({self.name!r}): the pipeline's settings have no field {self.setting!r}; "
            f"add it: {self.setting}: SecretStr | None = None"
        )

    def __repr__(self) -> str:
        return f"<webhook {self.name}>"
