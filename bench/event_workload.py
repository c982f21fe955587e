"""The events that are measured, four to a job, and how: the same for all systems."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

LAST_STATE = "done"
MOVES = [
    ("subtitle.download.requested", None, "download_queued"),
    ("subtitle.translate.requested", "download_queued", "translate_queued"),
    ("subtitle.translate.started", "translate_queued", "translate_in_progress"),
    ("subtitle.translated", "translate_in_progress", LAST_STATE),
]
STATES = {topic: state for topic, _, state in MOVES}

_DATA = {
    "video_url": "file:///media/series/Some Show/Season 01/Some.Show.S01E02.1080p.WEB.mkv",
    "video_title": "Some Show - S01E02 - The One That Was Translated",
    "season": 1,
    "episode": 2,
    "language": "he",
    "target_language": "en",
    "preferred_sources": ["opensubtitles", "addic7ed"],
}
_LOOKED_AT = 100
_session = uuid.uuid4().hex[:8]
_numbers = itertools.count(1)


class Said(NamedTuple):
    """What is published: about 430 bytes of JSON with its envelope."""

    topic: str
    job: str
    data: dict[str, Any]


class EventSystem:
    """Publishes events, and knows when each was done: when its job could be read as moved, with its history."""

    async def publish(self, said: Said) -> None:
        raise NotImplementedError

    async def done(self, events: Sequence[Said]) -> list[float]:
        """When each of these was done, by the monotonic clock; waits for those that are not."""
        raise NotImplementedError

    async def read(self, job: str) -> tuple[str, list[str]]:
        """The state of a job, and the topics of its history in order."""
        raise NotImplementedError

    async def throughput(self, in_flight: int, jobs: int) -> float:
        """Events done per second; so many wait for the answer to their publish at any moment."""
        events = _events(jobs)
        left = iter(events)

        async def publisher() -> None:
            for said in left:
                await self.publish(said)

        begun = time.monotonic()
        await asyncio.gather(*(publisher() for _ in range(in_flight)))
        taken = max(await self.done(events)) - begun
        await self._check(events)
        return len(events) / taken

    async def latency(self, per_second: float, jobs: int) -> list[float]:
        """Milliseconds from publishing each event to the moment at which it was done; they come at an even pace, done or not."""
        events = _events(jobs)
        called: list[float] = []
        first = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number, said in enumerate(events):
                await asyncio.sleep(max(0.0, first + number / per_second - time.monotonic()))
                called.append(time.monotonic())
                tasks.create_task(self.publish(said))
        done = await self.done(events)
        await self._check(events)
        return [(end - begin) * 1000 for begin, end in zip(called, done, strict=True)]

    async def _check(self, events: Sequence[Said]) -> None:
        for job in {said.job for said in events[-_LOOKED_AT:]}:
            found = await self.read(job)
            assert found == (LAST_STATE, list(STATES)), (job, found)


def _events(jobs: int) -> list[Said]:
    """The events of so many jobs, one job after the other."""
    ids = [f"job-{_session}-{next(_numbers)}" for _ in range(jobs)]
    return [Said(topic, job, _DATA) for job in ids for topic in STATES]
