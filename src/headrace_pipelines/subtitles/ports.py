"""What the steps may use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from headrace_pipelines.services.language_model.port import LanguageModel
from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.languages import SameLanguages
from headrace_pipelines.subtitles.rules.rtl import Profile
from headrace_pipelines.subtitles.services.player.port import Player
from headrace_pipelines.subtitles.services.subtitle_provider.port import SubtitleProvider
from headrace_pipelines.subtitles.services.web_video.port import WebVideos


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How the people who run this want it done."""

    roots: tuple[Path, ...] = ()
    """Folders of videos; nothing outside of them is read or written."""
    output: Path = Path("subtitles")
    """Where subtitles of videos go that lie on no disk of ours."""
    wanted: tuple[Wanted, ...] = ()
    """What the library shall have for every video."""
    fallback: tuple[str, ...] = ("en",)
    translate: bool = True
    least_movie: int = 70
    least_episode: int = 90
    tries: int = 3
    """So many candidates of a language are downloaded, if the first ones turn out to be useless."""
    same: SameLanguages = field(default_factory=lambda: SameLanguages(()))
    right_to_left: Profile = Profile.NONE
    byte_order_mark: bool = False
    strip_adverts: bool = True
    overwrite: bool = False
    """Replace subtitles that others wrote, too; a copy is kept beside them."""
    search_kept: timedelta = timedelta(hours=6)
    nothing_kept: timedelta = timedelta(hours=24)
    done_for: timedelta = timedelta(hours=1)
    """So long the same request gets the job that is done; after it, it begins again."""
    at_once: int = 4
    """Parts of a translation that are asked for side by side."""
    context: str = ""
    glossary: Mapping[str, str] = field(default_factory=dict)
    public_url: str = ""
    watch: bool = True
    scan_every: timedelta = timedelta(hours=6)


@dataclass(frozen=True, kw_only=True)
class Ports:
    providers: Mapping[str, SubtitleProvider]
    policy: Policy
    web: WebVideos
    model: LanguageModel | None = None
    player: Player | None = None
    stand_ins: bool = False
    scanning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One walk through the library at a time."""
    missing: tuple[str, ...] = ()
    """Settings without which something is not done, and what."""
