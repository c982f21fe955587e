"""OpenSubtitles, spoken to over its REST interface, version 1."""

from headrace_pipelines.subtitles.services.subtitle_provider.live.provider import OPENSUBTITLES, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.live.session import Account

__all__ = ["OPENSUBTITLES", "Account", "OpenSubtitles"]
