"""What providers must not forget, kept in the pipeline's tables."""

from __future__ import annotations

from pydantic import TypeAdapter

import headrace
from headrace_pipelines.subtitles.services.subtitle_provider.memory import Remembered
from headrace_pipelines.subtitles.store import Store

_SHAPE = TypeAdapter(Remembered)


class TableMemory:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self, provider: str) -> Remembered | None:
        kept = self._store.service(provider)
        return None if kept is None else _SHAPE.validate_json(kept)

    async def save(self, provider: str, remembered: Remembered) -> None:
        await self._store.keep_service(provider, _SHAPE.dump_json(remembered), headrace.now())
