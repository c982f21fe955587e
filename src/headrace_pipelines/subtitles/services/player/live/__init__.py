"""Media servers, each spoken to in its own way."""

from headrace_pipelines.subtitles.services.player.live.jellyfin import Jellyfin
from headrace_pipelines.subtitles.services.player.live.plex import Plex

__all__ = ["Jellyfin", "Plex"]
