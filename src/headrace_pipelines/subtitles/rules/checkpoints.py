"""Under which key a translated chunk is kept, and what is kept of it.

The key is made of what was translated and how, never of who asked: a second job with the same film finds what the first
one paid for. Texts are kept by their place in the chunk, so that they fit wherever the same chunk stands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from headrace_pipelines.subtitles.rules.chunks import Chunk
from headrace_pipelines.subtitles.rules.prompts import PROMPT_VERSION, Brief


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What was accepted of a chunk; None: nothing good enough came back for this line."""

    texts: tuple[str | None, ...]


def content_key(chunk: Chunk, brief: Brief, *, model: str) -> str:
    """Changes with everything that may change the translation of these lines, and with nothing else."""
    content = {
        "lines": [line.text for line in chunk.lines],
        "source": brief.source,
        "target": brief.target,
        "model": model,
        "prompt": PROMPT_VERSION,
        "glossary": sorted(brief.glossary.items()),
        "genders": sorted(brief.genders.items()),
    }
    return sha256(json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def checkpoint(chunk: Chunk, accepted: Mapping[int, str]) -> Checkpoint:
    return Checkpoint(texts=tuple(accepted.get(line.id) for line in chunk.lines))


def accepted_in(checkpoint: Checkpoint, chunk: Chunk) -> dict[int, str]:
    """What need not be asked for again; nothing if the checkpoint is not of this chunk."""
    if len(checkpoint.texts) != len(chunk.lines):
        return {}
    pairs = zip(chunk.lines, checkpoint.texts, strict=True)
    return {line.id: text for line, text in pairs if text is not None}
