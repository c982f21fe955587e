"""What whoever asks for a change wants recorded in the change's own transaction, without those in between knowing of it.

The server uses it for keys of idempotency: a record of its own, before or after the change, would leave a gap in which a crash makes
the record wrong. Calls that are asked from outside pass their operation through ``with_companion``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from headrace._ports.database import Operation, Transaction

T = TypeVar("T")

_companion: ContextVar[Operation[Any] | None] = ContextVar("headrace_companion", default=None)


@contextmanager
def accompanied_by(companion: Operation[Any]) -> Iterator[None]:
    """Within this block, in this task, changes commit together with ``companion``."""
    before = _companion.set(companion)
    try:
        yield
    finally:
        _companion.reset(before)


def with_companion(operation: Operation[T]) -> Operation[T]:
    """The operation, followed by the companion of whoever asks; an operation that raises leaves nothing of either."""
    companion = _companion.get()
    if companion is None:
        return operation

    def both(tx: Transaction) -> T:
        result = operation(tx)
        companion(tx)
        return result

    return both
