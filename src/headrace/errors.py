"""Every exception that a caller of Headrace may meet.

HeadraceError
├── ConfigurationError              settings or wiring are wrong; fix and restart
│   └── KeyMissing                  values are encrypted under a key that was not given
├── DefinitionError                 a flow or step is declared or used wrongly
│   └── NotDeterministic            a flow asked the outside world directly; the run is `blocked` until the code is mended
├── ValueRefused                    a value cannot cross a boundary: wrong type, too large, not serialisable
├── NotFound                        RunNotFound · FlowNotFound · JobNotFound · EventNotFound
├── Conflict                        RunAlreadyExists · RunAlreadyEnded
├── RunFailed                       what awaiting a run raises; the run's own error is __cause__
├── RunCancelled · RunTimedOut      the same, for runs that ended so
├── StepTimedOut                    an attempt took longer than the step allows (also a TimeoutError)
├── WorkerDied                      the worker process of a `cpu` step ended without an answer
├── OutcomeUnknown                  an at-most-once step was under way when the process died
├── RemoteError                     a recorded error whose class cannot be made again here
├── ReplayDiverged                  the code no longer fits the journal; the run is `blocked`
├── StoreError                      the file or the database
│   ├── StoreBusy · StoreFull       worth another try
│   ├── StoreOwned                  another process owns the store
│   └── StoreFailed · StoreCorrupt · StoreTooNew · StoreLost
├── EngineUnavailable               the engine is stopping, stopped or out of reach
├── WebhookRefused                  a webhook is not signed by whom it should be, or too old
└── ServiceError                    raised by live clients and stand-ins of outside services
    ├── ServiceUnavailable          worth another attempt
    │   └── RateLimited             carries `retry_after`
    ├── ServiceRefused              not worth one
    │   └── EndpointGone            the other side wants no more webhooks
    └── UnexpectedAnswer            not worth one
"""

from __future__ import annotations

from datetime import timedelta

__all__ = [
    "ConfigurationError",
    "Conflict",
    "DefinitionError",
    "EndpointGone",
    "EngineUnavailable",
    "EventNotFound",
    "FlowNotFound",
    "HeadraceError",
    "JobNotFound",
    "KeyMissing",
    "NotDeterministic",
    "NotFound",
    "OutcomeUnknown",
    "RateLimited",
    "RemoteError",
    "ReplayDiverged",
    "RunAlreadyEnded",
    "RunAlreadyExists",
    "RunCancelled",
    "RunFailed",
    "RunNotFound",
    "RunTimedOut",
    "ServiceError",
    "ServiceRefused",
    "ServiceUnavailable",
    "StepTimedOut",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFailed",
    "StoreFull",
    "StoreLost",
    "StoreOwned",
    "StoreTooNew",
    "UnexpectedAnswer",
    "ValueRefused",
    "WebhookRefused",
    "WorkerDied",
]


class HeadraceError(Exception):
    """The root of all errors of Headrace."""


class ConfigurationError(HeadraceError):
    """Settings or wiring are wrong; fix them and start again."""


class KeyMissing(ConfigurationError):
    """Values of the store are encrypted under a key that was not given."""

    def __init__(self, *key_ids: str) -> None:
        super().__init__(*key_ids)
        self.key_ids = key_ids

    def __str__(self) -> str:
        keys = ", ".join(map(str, self.key_ids))
        return (
            f"values of this store are encrypted, and this key was not given: {keys}. Set HEADRACE_STORE__KEY, or "
            "HEADRACE_STORE__OLD_KEYS for one that shall only read; in a program: Headrace(keys=[...])"
        )


class DefinitionError(HeadraceError):
    """A flow, step or pipeline is declared or used wrongly; the text has the fix."""


class NotDeterministic(DefinitionError):
    """A flow asked the outside world directly, so a replay could differ; the text names the line and the replacement."""


class ValueRefused(HeadraceError):
    """A value cannot cross a boundary: it does not fit its annotation, is too large or cannot be written as JSON."""


class NotFound(HeadraceError):
    """What was asked for does not exist."""


class RunNotFound(NotFound):
    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"there is no run {self.run_id!r}; `headrace runs ls` lists them"


class FlowNotFound(NotFound):
    def __init__(self, name: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"there is no flow {self.name!r} here; add it to Pipeline(flows=[...]). Known flows: {known}"


class JobNotFound(NotFound):
    def __init__(self, lifecycle: str, id: str) -> None:
        super().__init__(lifecycle, id)
        self.lifecycle = lifecycle
        self.id = id

    def __str__(self) -> str:
        return f"there is no job {self.id!r} of {self.lifecycle!r}; `headrace jobs ls {self.lifecycle}` lists them"


class EventNotFound(NotFound):
    def __init__(self, event_id: str) -> None:
        super().__init__(event_id)
        self.event_id = event_id

    def __str__(self) -> str:
        return f"there is no event {self.event_id!r}; `headrace events tail` shows the newest"


class Conflict(HeadraceError):
    """The state of things does not allow it."""


class RunAlreadyExists(Conflict):
    def __init__(self, run_id: str, state: str) -> None:
        super().__init__(run_id, state)
        self.run_id = run_id
        self.state = state

    def __str__(self) -> str:
        return (
            f"run {self.run_id!r} exists already and is {self.state}; use another id, or the policy 'join' or 'replace'"
        )


class RunAlreadyEnded(Conflict):
    def __init__(self, run_id: str, state: str) -> None:
        super().__init__(run_id, state)
        self.run_id = run_id
        self.state = state

    def __str__(self) -> str:
        return f"run {self.run_id!r} has already ended: {self.state}"


class RunFailed(HeadraceError):
    """Awaiting a run that failed; ``__cause__`` is the error that ended it."""

    def __init__(self, run_id: str, reason: str = "") -> None:
        super().__init__(run_id, reason)
        self.run_id = run_id
        self.reason = reason

    def __str__(self) -> str:
        return f"run {self.run_id!r} failed: {self.reason}"


class RunCancelled(HeadraceError):
    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"run {self.run_id!r} was cancelled"


class RunTimedOut(HeadraceError):
    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"run {self.run_id!r} did not end before its deadline"


class StepTimedOut(HeadraceError, TimeoutError):
    def __init__(self, step: str, timeout: float) -> None:
        super().__init__(step, timeout)
        self.step = step
        self.timeout = timeout

    def __str__(self) -> str:
        return f"step {self.step!r} took longer than its timeout of {self.timeout:g} s"


class WorkerDied(HeadraceError):
    def __init__(self, step: str, exit_code: int | None) -> None:
        super().__init__(step, exit_code)
        self.step = step
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"the worker process of step {self.step!r} ended with exit code {self.exit_code} and without an answer"


class OutcomeUnknown(HeadraceError):
    def __init__(self, step: str, key: str) -> None:
        super().__init__(step, key)
        self.step = step
        self.key = key

    def __str__(self) -> str:
        return (
            f"the at-most-once step {self.step!r} was under way when the process died, so nobody knows whether its "
            f"effect happened; look for its key {self.key!r} on the other side, then decide"
        )


class RemoteError(HeadraceError):
    """A recorded error whose class cannot be made again in this process; ``type_name`` names it."""

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__(type_name, message)
        self.type_name = type_name
        self.message = message

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}"


class ReplayDiverged(HeadraceError):
    """The code no longer fits what is recorded. Nothing is lost: the run goes on when code that fits is back."""

    def __init__(self, run_id: str, position: int, recorded: str, found: str) -> None:
        super().__init__(run_id, position, recorded, found)
        self.run_id = run_id
        self.position = position
        self.recorded = recorded
        self.found = found

    def __str__(self) -> str:
        return (
            f"run {self.run_id!r} cannot go on with this code: at command {self.position} the journal has "
            f"{self.recorded}, the code has {self.found}. Bring the old code back, or keep both ways with patched(...)"
        )


class StoreError(HeadraceError):
    """The file or the database does not do what was asked."""


class StoreBusy(StoreError):
    """The store is busy or out of reach for a moment; the same call may pass later."""


class StoreFull(StoreError):
    """No space is left; nothing of the refused work was recorded. Free some space: work goes on by itself."""


class StoreOwned(StoreError):
    """Another process owns the store; the text says which one."""


class StoreFailed(StoreError):
    """The disk failed under the store; nothing more is accepted. Look at the disk, run `headrace check`, restart."""


class StoreCorrupt(StoreError):
    """The file is damaged; `headrace check` says where. Restore a backup."""


class StoreTooNew(StoreError):
    """The store was written by a newer Headrace."""


class StoreLost(StoreError):
    """Another process took the store over; this one must stop."""


class EngineUnavailable(HeadraceError):
    """The engine is stopping, stopped or out of reach."""


class WebhookRefused(HeadraceError):
    """A webhook is not signed, not by anybody who knows the secret, or not lately."""


class ServiceError(HeadraceError):
    """An outside service did not do what was asked; ``status`` is that of its answer, if ``send`` of webhooks got one."""

    status: int | None = None


class ServiceUnavailable(ServiceError):
    """The service is away or overloaded; worth another attempt."""


class RateLimited(ServiceUnavailable):
    """The service asks for patience; ``retry_after`` says how long, if it told."""

    def __init__(self, message: str = "", *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceRefused(ServiceError):
    """The service understood and said no; another attempt would get the same answer."""


class EndpointGone(ServiceRefused):
    """The other side has answered 410: it wants no more webhooks."""


class UnexpectedAnswer(ServiceError):
    """The service answered something that its protocol does not allow."""
