"""A server on this machine that speaks as OpenSubtitles does, with a small library of invented films and series."""

from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.catalogue import Feature, Offered
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.library import DEMO, DemoVideo, demo_subtitles
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.server import LocalSubtitles

__all__ = ["DEMO", "DemoVideo", "Feature", "LocalSubtitles", "Offered", "demo_subtitles"]
