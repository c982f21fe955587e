"""The line of code at which a run waits."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

_PACKAGE = f"{Path(__file__).parents[2]}/"


def source_line(location: str) -> str:
    """The text of ``file:line``, if that file is loaded as code in this process; the store could name any file."""
    path, _, line = location.rpartition(":")
    if not line.isdigit() or not any(
        getattr(module, "__file__", None) == path for module in tuple(sys.modules.values())
    ):
        return ""
    return linecache.getline(path, int(line)).strip()


def own_frames(line: str) -> str:
    """A line of a stack without the frames of Headrace itself, which tell the author of a flow nothing."""
    task, _, frames = line.partition(": ")
    own = [frame for frame in frames.split(" > ") if not frame.startswith(_PACKAGE)]
    return f"{task}: {' > '.join(own)}" if own else line
