"""Settings to ports: the only place that knows both the real services and their stand-ins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from headrace import Tables
from headrace_pipelines.services.language_model.live import Budget, GeminiModel, Ledger, Limits, OpenAiModel
from headrace_pipelines.services.language_model.port import LanguageModel
from headrace_pipelines.subtitles.memory import TableMemory
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.rules.languages import SAME_BY_DEFAULT, parse_same, parse_wanted
from headrace_pipelines.subtitles.rules.path_mapping import PathMapping
from headrace_pipelines.subtitles.services.player.live import Jellyfin
from headrace_pipelines.subtitles.services.player.port import Player
from headrace_pipelines.subtitles.services.subtitle_provider.folder import FolderOfSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.live import OPENSUBTITLES, Account, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.port import SubtitleProvider
from headrace_pipelines.subtitles.services.web_video.live import HttpVideos
from headrace_pipelines.subtitles.settings import Settings
from headrace_pipelines.subtitles.store import Store

if TYPE_CHECKING:
    from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DemoVideo

DEMO_LIBRARY = Path("subtitles-library")
"""Where the stand-ins' videos are put, in the folder in which Headrace is started."""
USER_AGENT = "Headrace v0.1.0"
_NO_PROVIDER = "HEADRACE_SUBTITLES_OPENSUBTITLES_KEY: without it nothing is searched at OpenSubtitles"
_NO_MODEL = "HEADRACE_SUBTITLES_MODEL_URL or HEADRACE_SUBTITLES_GEMINI_KEY: without it nothing is translated"
_NO_ROOTS = "HEADRACE_SUBTITLES_ROOTS: without it there is no library, and only videos on the web are served"


@asynccontextmanager
async def wire(settings: Settings, tables: Tables, *, stand_ins: bool) -> AsyncIterator[Ports]:
    """Called once at start; what it yields is what `use` finds in a step."""
    async with AsyncExitStack() as stack:
        if stand_ins:
            settings = await _play(stack, settings)
        providers = await _providers(stack, settings, Store(tables))
        model = await _model(stack, settings)
        web = await stack.enter_async_context(HttpVideos(allow_private=stand_ins))
        player = await _player(stack, settings)
        yield Ports(
            providers=providers,
            model=model,
            web=web,
            player=player,
            policy=policy(settings),
            stand_ins=stand_ins,
            missing=_missing(settings),
        )


async def _play(stack: AsyncExitStack, settings: Settings) -> Settings:
    """Put the stand-ins in place of all that is not there, and videos into a library of their own if none is named."""
    from headrace_pipelines.services.language_model.stand_in.model import LocalLanguageModel
    from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DEMO, LocalSubtitles, demo_subtitles

    local = await stack.enter_async_context(LocalSubtitles(demo_subtitles(), allowed=1_000))
    model = await stack.enter_async_context(LocalLanguageModel())
    changes: dict[str, object] = {
        "opensubtitles_url": local.api, "opensubtitles_key": SecretStr("stand-in-key"), "opensubtitles_user": "demo",
        "opensubtitles_password": SecretStr("demo"), "model_url": model.url, "model": "stand-in", "gemini_key": None,
    }  # fmt: skip
    if not settings.roots:
        await asyncio.to_thread(_lay_out, DEMO_LIBRARY, DEMO)
        changes["roots"] = (DEMO_LIBRARY,)
    return settings.model_copy(update=changes)


def _lay_out(root: Path, videos: Iterable[DemoVideo]) -> None:
    for video in videos:
        file = root / video.path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(video.content())


def policy(settings: Settings) -> Policy:
    return Policy(
        roots=tuple(root.expanduser().resolve() for root in settings.roots), output=settings.output.expanduser().resolve(),
        wanted=tuple(parse_wanted(text) for text in settings.wanted), fallback=settings.fallback, translate=settings.translate,
        least_movie=settings.least_movie, least_episode=settings.least_episode, tries=settings.tries,
        same=parse_same(settings.same).also(SAME_BY_DEFAULT), right_to_left=settings.right_to_left,
        byte_order_mark=settings.byte_order_mark, strip_adverts=settings.strip_adverts, overwrite=settings.overwrite,
        at_once=settings.model_at_once, context=settings.synopsis, glossary=dict(_pairs(settings.glossary)),
        public_url=settings.public_url, watch=settings.watch, scan_every=settings.scan_every,
    )  # fmt: skip


def _pairs(words: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(left.strip(), right.strip()) for left, _, right in (word.partition("=") for word in words)]


async def _providers(stack: AsyncExitStack, settings: Settings, store: Store) -> dict[str, SubtitleProvider]:
    found: list[SubtitleProvider] = []
    if settings.opensubtitles_key is not None:
        client = OpenSubtitles(
            key=settings.opensubtitles_key,
            user_agent=USER_AGENT,
            account=_account(settings),
            url=settings.opensubtitles_url or OPENSUBTITLES,
            memory=TableMemory(store),
        )
        found.append(await stack.enter_async_context(client))
    if settings.folder is not None:
        found.append(FolderOfSubtitles(settings.folder.expanduser().resolve()))
    return {provider.name: provider for provider in found}


async def _player(stack: AsyncExitStack, settings: Settings) -> Player | None:
    if not settings.jellyfin_url or settings.jellyfin_key is None:
        return None
    mapping = PathMapping(tuple(_pairs(settings.paths)))
    return await stack.enter_async_context(
        Jellyfin(url=settings.jellyfin_url, token=settings.jellyfin_key, mapping=mapping)
    )


def _account(settings: Settings) -> Account | None:
    if not settings.opensubtitles_user or settings.opensubtitles_password is None:
        return None
    return Account(username=settings.opensubtitles_user, password=settings.opensubtitles_password)


async def _model(stack: AsyncExitStack, settings: Settings) -> LanguageModel | None:
    limits = Limits(requests_per_minute=settings.model_per_minute, at_once=settings.model_at_once)
    ledger = Ledger(Budget(tokens=settings.model_budget_tokens))
    if settings.gemini_key is not None:
        gemini = GeminiModel(
            model=settings.model or "gemini-2.5-flash", key=settings.gemini_key, limits=limits, ledger=ledger
        )
        return await stack.enter_async_context(gemini)
    if settings.model_url:
        openai = OpenAiModel(
            model=settings.model or "default",
            url=settings.model_url,
            key=settings.model_key,
            limits=limits,
            ledger=ledger,
        )
        return await stack.enter_async_context(openai)
    return None


def _missing(settings: Settings) -> tuple[str, ...]:
    lacks = {
        _NO_PROVIDER: settings.opensubtitles_key is None and settings.folder is None,
        _NO_MODEL: not settings.model_url and settings.gemini_key is None and settings.translate,
        _NO_ROOTS: not settings.roots,
    }
    return tuple(text for text, lacking in lacks.items() if lacking)
