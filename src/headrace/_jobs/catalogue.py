"""What the loaded pipelines declare about events: the types of their data, and the lifecycles that they move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace._events.model import Subject
from headrace._events.schema import EventType, Topics
from headrace._jobs.lifecycle import JobRef, Lifecycle, Lifecycles
from headrace.errors import NotFound


class Catalogue:
    def __init__(self, types: Sequence[EventType[Any]] = (), lifecycles: Sequence[Lifecycle[Any]] = ()) -> None:
        self.topics = Topics(types)
        self.lifecycles = Lifecycles(lifecycles)

    def subject_of(self, topic: str, subject: str | JobRef) -> Subject:
        return self.lifecycles.subject_of(topic, subject)

    def lifecycle(self, name: str) -> Lifecycle[Any]:
        found = self.lifecycles.by_name.get(name)
        if found is None:
            known = ", ".join(self.lifecycles.by_name) or "none"
            raise NotFound(f"there is no lifecycle {name!r} here; known lifecycles: {known}")
        return found
