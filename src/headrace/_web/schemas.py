"""What goes in and out of the API, besides the views of runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from headrace._access.model import Scope
from headrace._app.view import Json
from headrace._bridge.model import BridgeView
from headrace._endpoints.rules import MOST_TOPICS
from headrace._endpoints.rules import NAME as ENDPOINT_NAME
from headrace._events.filter import MAX_LENGTH
from headrace._events.model import MAX_NAME, NAME
from headrace._events.topic import MAX_TOPIC, PATTERN, TOPIC
from headrace._jobs.lifecycle import Lifecycle

Topic = Annotated[str, Field(pattern=TOPIC, max_length=MAX_TOPIC)]
Pattern = Annotated[str, Field(pattern=PATTERN, max_length=MAX_TOPIC)]
Name = Annotated[str, Field(pattern=NAME, max_length=MAX_NAME)]


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


class PublishEvent(_Body):
    """Append an event to the log."""

    topic: Topic = Field(description="Words split by dots.", examples=["goal.confirmed"])
    subject: Name = Field(description="What it is about.", examples=["salah-44"])
    data: Json = Field(default=None, examples=[{"minute": 44}])
    id: Name | None = Field(default=None, description="Publishing the same id again changes nothing.")
    source: str | None = Field(default=None, description="Who says it.")
    time: AwareDatetime | None = Field(default=None, description="When it happened; now by default.")


class ReplayEvents(_Body):
    """Which range of the log."""

    after: int | None = Field(default=None, ge=0, le=2**63 - 1, description="Behind this position.")
    since: AwareDatetime | None = Field(default=None, description="Recorded then or later.")
    until: int | None = Field(
        default=None, ge=0, le=2**63 - 1, description="Up to this position; by default the end of the log."
    )
    dry_run: bool = Field(default=False, description="Only count them.")


class Switched(BaseModel):
    """Whether a subscription works."""

    name: str
    paused: bool


class RedriveAll(_Body):
    subscription: str | None = Field(default=None, description="Only of this subscription.")


class Redriven(BaseModel):
    """How many dead letters are tried again."""

    letters: int


class ClientPayload(BaseModel):
    """Anything, and if they are there, what the event is about and its id."""

    model_config = ConfigDict(extra="allow")

    subject: Name | None = None
    id: Name | None = None


class Dispatch(_Body):
    """The body of GitHub's `repository_dispatch`."""

    event_type: Topic = Field(examples=["data.fetched"])
    client_payload: ClientPayload = Field(default=ClientPayload())

    @property
    def data(self) -> dict[str, Json]:
        return self.client_payload.model_dump(exclude_unset=True)


class MoveView(BaseModel):
    """An event, and where it leads; an empty list of sources opens a job."""

    topic: str
    sources: list[str]
    target: str
    reopens: bool


class LifecycleView(BaseModel):
    """How jobs of one kind live."""

    name: str
    states: list[str]
    terminal: list[str]
    moves: list[MoveView]
    notes: list[str]

    @staticmethod
    def of(lifecycle: Lifecycle[Any]) -> LifecycleView:
        return LifecycleView(
            name=lifecycle.name,
            states=list(lifecycle.states),
            terminal=sorted(lifecycle.terminal),
            moves=[
                MoveView(topic=move.topic, sources=list(move.sources), target=move.target, reopens=move.reopens)
                for move in lifecycle.moves
            ],
            notes=sorted(lifecycle.notes),
        )


class MakeToken(_Body):
    """Make a token."""

    name: str = Field(
        description="What it is called in lists and logs; free again when the token is revoked.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    )
    scope: Scope = Field(default=Scope.READ, description="What it is good for.")


class AddEndpoint(_Body):
    """Send events to an address."""

    name: str = Field(description="What it is called in lists and logs.", pattern=ENDPOINT_NAME)
    url: str = Field(
        description="Where webhooks go.", min_length=1, max_length=2_000, examples=["https://example.org/hooks"]
    )
    topics: list[Pattern] = Field(
        default=["#"], min_length=1, max_length=MOST_TOPICS, description="Which events; patterns, too."
    )
    filter: str = Field(
        default="",
        max_length=MAX_LENGTH,
        description="Of those, the ones for which this is true.",
        examples=["data.parcels > 1"],
    )
    allow_private: bool = Field(
        default=False, description="Also if the address is one of this machine or of a private network."
    )


class DisableEndpoint(_Body):
    """Send nothing there for a while."""

    reason: str = Field(default="", max_length=500, description="For people.")


class RotateSecret(_Body):
    """Sign with a new secret."""

    overlap: int = Field(
        default=86_400, ge=0, le=31_536_000, description="For so many seconds the one before signs, too."
    )


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
    bridges: list[BridgeView]


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
