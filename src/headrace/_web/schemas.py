"""What goes in and out of the API, besides the views of runs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from headrace._access.model import Scope
from headrace._app.view import Json


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StartRun(_Body):
    """Start a run, or join the one that has the same id."""

    flow: str = Field(description="`pipeline.flow`, or `flow` where that is clear.")
    arguments: dict[str, Json] = Field(default={}, description="The flow's arguments by name.")
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=255,
        description="An id of your own; by default the flow's template gives it.",
    )
    policy: Literal["join", "reject", "replace"] = Field(default="join", description="What to do if the id is taken.")


class SendMessage(_Body):
    """Leave a message for an open run."""

    topic: str
    value: Json = None


class CancelRun(_Body):
    """Ask a run to stop."""

    force: bool = Field(default=False, description="End it at once, without clean-up.")


class MakeToken(_Body):
    """Make a token."""

    name: str = Field(
        description="What it is called in lists and logs; free again when the token is revoked.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    )
    scope: Scope = Field(default=Scope.READ, description="What it is good for.")


class Accepted(BaseModel):
    """It is on disk."""

    id: str
    number: int
    state: str


class Stack(BaseModel):
    """Where the code of a run waits; empty when the run is not in memory."""

    id: str
    lines: list[str]


class Status(BaseModel):
    """The owner of the store."""

    version: str
    pid: int
    store: str
    ready: bool
    failure: str | None
    flows: dict[str, list[str]]
    runs: dict[str, int]


class Health(BaseModel):
    ok: bool
    reason: str = ""


class ProblemBody(BaseModel):
    code: str
    message: str
    hint: str


class Problem(BaseModel):
    """The one shape of all errors."""

    error: ProblemBody
