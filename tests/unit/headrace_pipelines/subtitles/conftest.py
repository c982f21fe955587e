from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from headrace.errors import ServiceRefused
from headrace.testing import Harness, VirtualClock
from headrace_pipelines.services.language_model.live import OpenAiModel
from headrace_pipelines.services.language_model.stand_in.model import LocalLanguageModel
from headrace_pipelines.subtitles import desk, pipeline
from headrace_pipelines.subtitles.model import Cue, Order, Wanted
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.services.subtitle_provider.live import Account, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import (
    DEMO,
    DemoVideo,
    LocalSubtitles,
    Offered,
    demo_subtitles,
)
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.dialogue import srt
from headrace_pipelines.subtitles.services.web_video.port import Ends

Film = Callable[[int], tuple[Cue, ...]]

_SAYINGS = (
    "You should have told me about it {}.",
    "<i>Nobody ever asked me {}.</i>",
    "- Where is he, number {}?\n- He has left.",
    "{{\\an8}}Somewhere in the north, {}.",
    "♪ And we sing it again, {}. ♪",
    "Well, {}!",
)


@pytest.fixture(scope="session")
def film() -> Film:
    """So many cues, one every three seconds, no two alike; each ends a sentence."""

    def make(count: int) -> tuple[Cue, ...]:
        return tuple(
            Cue(start=number * 3_000, end=number * 3_000 + 2_000, text=_SAYINGS[number % 6].format(number + 1))
            for number in range(count)
        )

    return make


@dataclass
class House:
    """The whole pipeline on stand-ins, with a library of their videos, on a clock that jumps."""

    harness: Harness
    ports: Ports
    provider: LocalSubtitles
    model: LocalLanguageModel
    root: Path

    def video(self, number: int) -> DemoVideo:
        return next(video for video in DEMO if video.feature.id == number)

    def path(self, number: int) -> Path:
        return self.root / self.video(number).path

    def order(self, number: int, language: str, **more: Any) -> Order:
        """The file is laid down when it is asked for first."""
        path = self.path(number)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.video(number).content())
        return Order(video_url=path.as_uri(), video_title=self.video(number).feature.title, language=language, **more)

    async def ask(self, number: int, language: str, **more: Any) -> desk.Accepted:
        return await desk.accept(self.harness.app, self.order(number, language, **more))

    async def job(self, id: str) -> desk.SubtitleJob:
        return await self.harness.app.job("subtitle", id)

    async def told(self, id: str) -> list[tuple[str, str]]:
        """What happened to a job, and who said so."""
        return [(event.topic, event.source) for event in await self.harness.app.job_history("subtitle", id)]

    def offer(self, number: int, language: str) -> Offered:
        """What somebody uploads for a video that has nothing in this language yet."""
        video = self.video(number)
        content = srt(f"{video.path}/{language}", language, cues=400)
        return Offered(
            file_id=900_000 + number, feature=video.feature, language=language, release=video.release, content=content,
            hashes=frozenset({video.moviehash()}), downloads=10,
        )  # fmt: skip

    def written(self, number: int) -> list[str]:
        return sorted(path.name for path in self.path(number).parent.iterdir() if path.suffix == ".srt")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = VirtualClock()
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(
            LocalSubtitles(demo_subtitles(), allowed=100, clock=clock, now=lambda: clock.moment)
        )
        model = await stack.enter_async_context(LocalLanguageModel())
        client = await stack.enter_async_context(
            OpenSubtitles(
                key=SecretStr("stand-in-key"), user_agent="Tests v1.0", url=provider.api, clock=clock,
                account=Account(username="demo", password=SecretStr("demo")), now=lambda: clock.moment,
            )
        )  # fmt: skip
        translator = await stack.enter_async_context(OpenAiModel(model="stand-in", url=model.url, clock=clock))
        policy = Policy(
            roots=(tmp_path / "library",), output=tmp_path / "output", fallback=("en",), wanted=(Wanted(language="he"),)
        )
        ports = Ports(providers={client.name: client}, policy=policy, web=_NoWeb(), model=translator)
        harness = await stack.enter_async_context(Harness(pipeline, ports=ports, clock=clock))
        yield House(harness, ports, provider, model, policy.roots[0])


class _NoWeb:
    async def ends_of(self, url: str) -> Ends:
        raise ServiceRefused(f"{url} cannot be looked at in this test")
