"""Sounds that people drop on a page; a run measures each. `headrace up examples/sounds/pipeline.py`, then open /p/sounds/."""

import os
import wave
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace import Event, Lifecycle, Pipeline, flow, on, step, use

BARS = 96


@dataclass(frozen=True)
class Library:
    folder: Path

    def file(self, sound: str) -> Path:
        return self.folder / f"{Path(sound).name}.wav"  # a subject is anybody's text, and must not lead elsewhere


def known(data: dict[str, Any] | None, event: Event[Any]) -> dict[str, Any]:
    """What the job of a sound knows: its name, and when it was measured, its shape."""
    return (data or {}) | (event.data or {})


sounds: Lifecycle[dict[str, Any]] = Lifecycle(
    "sound",
    moves=[
        ("sound.added", None, "measuring"),
        ("sound.measured", "measuring", "ready"),
        ("sound.failed", "measuring", "unreadable"),
    ],
    terminal=["ready", "unreadable"],
    data=dict[str, Any],
    fold=known,
    ends={"completed": "sound.measured", "failed": "sound.failed"},
)


@step
def measure(sound: str) -> dict[str, Any]:
    try:
        with wave.open(str(use(Library).file(sound))) as file:
            width, seconds = file.getsampwidth(), file.getnframes() / file.getframerate()
            samples = array("h", file.readframes(file.getnframes()) if width == 2 else b"")
    except (wave.Error, EOFError) as error:
        raise ValueError("it is no WAV file") from error
    if width != 2:
        raise ValueError(f"its samples have {8 * width} bits; 16 are understood")
    part = max(1, len(samples) // BARS)
    loudest = [max(map(abs, samples[at : at + part])) for at in range(0, min(len(samples), part * BARS), part)]
    return {"seconds": round(seconds, 2), "shape": [round(one / 32768, 3) for one in loudest]}


@flow(id="measure-{sound}")
async def take_in(sound: str) -> dict[str, Any]:
    return await measure(sound)


def wire() -> Library:
    folder = Path(os.environ.get("SOUNDS", "sounds"))
    folder.mkdir(exist_ok=True)
    return Library(folder)


pipeline = Pipeline(
    "sounds",
    flows=[take_in],
    lifecycles=[sounds],
    triggers=[on("sound.added", take_in, args=lambda event: (event.subject,), job=sounds)],
    pages="sounds.pages:pages",
    wire=wire,
)
