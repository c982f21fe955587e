"""What the steps of pipelines use: built once, at the start of a process, by the pipelines' own wiring."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING

from headrace._app.tables import Tables
from headrace._authoring.pipeline import Pipeline
from headrace.errors import ConfigurationError
from headrace.settings import read_settings

if TYPE_CHECKING:
    from pydantic import BaseModel


class Wires:
    def __init__(self, settings: Mapping[str, BaseModel] | None, *, stand_ins: bool) -> None:
        self._settings = dict(settings or {})
        self._stand_ins = stand_ins

    async def build(self, pipeline: Pipeline, stack: AsyncExitStack, tables: Tables) -> tuple[object, ...]:
        """What the wiring of a pipeline makes; what has an end ends with the stack."""
        if pipeline.wire is None:
            return ()
        built = pipeline.wire(**self._wanted_by(pipeline, tables))
        if isinstance(built, AbstractAsyncContextManager):
            built = await stack.enter_async_context(built)
        elif asyncio.iscoroutine(built):
            built = await built
        return built if isinstance(built, tuple) else (built,)

    def _wanted_by(self, pipeline: Pipeline, tables: Tables) -> dict[str, object]:
        """Those of ``settings``, ``stand_ins`` and ``tables`` that the wiring asks for by name."""
        assert pipeline.wire is not None
        wanted = inspect.signature(pipeline.wire).parameters
        given: dict[str, object] = {}
        if "settings" in wanted:
            given["settings"] = self.settings_of(pipeline)
        if "stand_ins" in wanted:
            given["stand_ins"] = self._stand_ins
        if "tables" in wanted:
            given["tables"] = tables
        return given

    def settings_of(self, pipeline: Pipeline) -> BaseModel:
        """The settings of a pipeline, read when they are wanted first."""
        if pipeline.settings is None:
            raise ConfigurationError(
                f"the wiring of pipeline {pipeline.name!r} asks for settings, and the pipeline has none: Pipeline(settings=...)"
            )
        if pipeline.name not in self._settings:
            loaded = read_settings(pipelines={pipeline.name: pipeline.settings}, strict=False)
            self._settings[pipeline.name] = loaded.pipelines[pipeline.name]
        return self._settings[pipeline.name]
