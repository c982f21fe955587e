"""Why a job fails, where it is not an outside service."""

from __future__ import annotations

from headrace.errors import HeadraceError


class SubtitleError(HeadraceError):
    """What this pipeline itself cannot do."""


class NoLanguageModel(SubtitleError):
    """A translation needs a language model, and none is configured."""

    def __str__(self) -> str:
        return "no language model is configured; set HEADRACE_SUBTITLES_MODEL_URL or HEADRACE_SUBTITLES_GEMINI_KEY, then retry the job"


class TranslationIncomplete(SubtitleError):
    """Too many cues could not be translated; what could be is kept, and a retry asks for the rest alone."""

    def __init__(self, flagged: int, cues: int) -> None:
        super().__init__(flagged, cues)
        self.flagged = flagged
        self.cues = cues

    def __str__(self) -> str:
        return f"{self.flagged} of {self.cues} cues could not be translated; a retry asks for these alone"
