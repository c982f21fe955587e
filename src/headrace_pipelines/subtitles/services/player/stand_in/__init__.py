"""Media servers on this machine, which know what they are told and note what they are asked to look at."""

from headrace_pipelines.subtitles.services.player.stand_in.jellyfin import LocalJellyfin
from headrace_pipelines.subtitles.services.player.stand_in.plex import LocalPlex

__all__ = ["LocalJellyfin", "LocalPlex"]
