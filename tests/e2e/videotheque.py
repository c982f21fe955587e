"""The subtitles pipeline on stand-ins, in the middle of an evening: found, translated, failed, missing, and waiting for quota."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import SecretStr

from headrace.testing import Harness, VirtualClock
from headrace_pipelines.services.language_model.live import OpenAiModel
from headrace_pipelines.services.language_model.stand_in.model import LocalLanguageModel
from headrace_pipelines.subtitles import desk, pipeline
from headrace_pipelines.subtitles.model import Cue, Order, TranslationOrder, Wanted
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.rules.formats import to_bytes, write
from headrace_pipelines.subtitles.scanning import scan
from headrace_pipelines.subtitles.services.subtitle_provider.live import Account, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DEMO, LocalSubtitles, demo_subtitles
from headrace_pipelines.subtitles.services.web_video.live import HttpVideos
from tests.e2e.exhibition import BEGINNING

HOME = "/p/subtitles"
_LONG_AGO = 1_600_000_000


@dataclass(frozen=True)
class Videotheque:
    harness: Harness
    root: Path
    model: LocalLanguageModel
    jobs: dict[str, str]
    """Some jobs, by what became of them."""


def lay_out(root: Path) -> None:
    for video in DEMO:
        file = root / video.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(video.content())
        os.utime(file, (_LONG_AGO, _LONG_AGO))


def subtitle(cues: int = 140) -> bytes:
    says = (
        "You should have told me about it {}.",
        "<i>Nobody ever asked me {}.</i>",
        "- Where is he, number {}?\n- He has left.",
        "Somewhere in the north, {}.",
    )
    return to_bytes(
        write(Cue(start=at * 3_000, end=at * 3_000 + 2_000, text=says[at % 4].format(at + 1)) for at in range(cues))
    )


@asynccontextmanager
async def videotheque(folder: Path, *, allowed: int = 100) -> AsyncIterator[Videotheque]:
    root, clock = folder / "library", VirtualClock(BEGINNING)
    lay_out(root)
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(
            LocalSubtitles(demo_subtitles(), allowed=allowed, clock=clock, now=lambda: clock.moment)
        )
        local = await stack.enter_async_context(LocalLanguageModel())
        client = await stack.enter_async_context(
            OpenSubtitles(
                key=SecretStr("stand-in-key"), user_agent="Tests v1.0", url=provider.api, clock=clock,
                account=Account(username="demo", password=SecretStr("demo")), now=lambda: clock.moment,
            )
        )  # fmt: skip
        model = await stack.enter_async_context(OpenAiModel(model="stand-in", url=local.url, clock=clock))
        web = await stack.enter_async_context(HttpVideos(allow_private=True))
        policy = Policy(
            roots=(root,), output=folder / "output", fallback=("en",),
            wanted=(Wanted(language="en"), Wanted(language="he"), Wanted(language="es")),
        )  # fmt: skip
        ports = Ports(providers={client.name: client}, policy=policy, web=web, model=model, stand_ins=True)
        harness = await stack.enter_async_context(
            Harness(pipeline, ports=ports, clock=clock, store=folder / "headrace.db", replay_check=False, strict=False)
        )
        yield Videotheque(harness, root, local, await _an_evening(harness, root, folder, local))
        # Whoever looks again for a year would be followed through all of it.
        for run in await harness.app.runs(count=1_000):
            if run.finished_at is None:
                await harness.app.cancel(run.id)


async def _an_evening(harness: Harness, root: Path, folder: Path, model: LocalLanguageModel) -> dict[str, str]:
    """Somebody sends a file, somebody else asks for films, and the library is scanned."""
    model.says(7, "", times=None)
    output = folder / "output" / "uploads" / "sent"
    output.mkdir(parents=True)
    (output / "The Long Way Home.2020.en.srt").write_bytes(subtitle())
    order = TranslationOrder(
        subtitle_file_path=str(output / "The Long Way Home.2020.en.srt"), source_language="en", target_language="he",
        video_title="The Long Way Home", reason="requested",
    )  # fmt: skip
    sent = await desk.accept_translation(harness.app, order)
    await harness.advance(timedelta(minutes=6))
    found = await desk.accept(harness.app, _order(root, 101, "he"))
    await harness.advance(timedelta(minutes=3))
    nothing = await desk.accept(harness.app, _order(root, 110, "he"))
    await harness.advance(timedelta(minutes=4))
    failed = await desk.accept(
        harness.app, Order(video_url="https://films.invalid/a.mkv", video_title="A Film", language="fr")
    )
    await harness.advance(timedelta(minutes=25))
    await harness.app.start(scan, "watcher")
    await harness.advance(timedelta(minutes=8))
    return {"sent": sent.job.id, "found": found.job.id, "missing": nothing.job.id, "failed": failed.job.id}


def _order(root: Path, number: int, language: str) -> Order:
    video = next(one for one in DEMO if one.feature.id == number)
    return Order(
        video_url=(root / video.path).as_uri(), video_title=video.feature.title, language=language, requested_by="page"
    )
