"""The example with pages of its own, and sounds to put on them."""

from __future__ import annotations

import importlib
import math
import struct
import sys
import wave
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.testing import Harness
from tests.e2e.exhibition import BEGINNING
from tests.tree import ROOT


def sound(folder: Path, name: str, *, seconds: float = 2.0, pitch: int = 440, beats: int = 1) -> Path:
    """A tone that swells and fades, as often as there are beats."""
    rate = 8_000
    number = int(rate * seconds)
    with wave.open(str(folder / name), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        loud = (
            abs(math.sin(math.pi * beats * at / number)) * math.sin(2 * math.pi * pitch * at / rate)
            for at in range(number)
        )
        file.writeframes(b"".join(struct.pack("<h", int(30_000 * one)) for one in loud))
    return folder / name


@contextmanager
def sounds_module(library: Path) -> Iterator[Any]:
    """The pipeline as `headrace up examples/sounds/pipeline.py` imports it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(ROOT / "examples"))
        patched.setenv("SOUNDS", str(library))
        try:
            yield importlib.import_module("sounds.pipeline")
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] == "sounds"]:
                del sys.modules[name]


@asynccontextmanager
async def recordings(folder: Path) -> AsyncIterator[Harness]:
    """A board with a few sounds on it."""
    library = folder / "library"
    with sounds_module(library) as module:
        async with Harness(module.pipeline, store=folder / "sounds.db", start=BEGINNING, replay_check=False) as harness:
            for number, name in enumerate(("river.wav", "door.wav", "rain at night.wav", "bell.wav"), start=1):
                file = sound(library, f"s{number}.wav", seconds=number, pitch=150 + 90 * number, beats=number)
                said = {"name": name, "size": file.stat().st_size}
                await harness.publish("sound.added", said, subject=f"s{number}")
            (library / "s5.wav").write_text("Dear Ada")
            await harness.publish("sound.added", {"name": "letter.wav", "size": 8}, subject="s5")
            await harness.settle()
            yield harness
