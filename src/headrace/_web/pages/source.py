"""The line of code at which a run waits."""

from __future__ import annotations

import linecache
import sys


def source_line(location: str) -> str:
    """The text of ``file:line``, if that file is loaded as code in this process; the store could name any file."""
    path, _, line = location.rpartition(":")
    if not line.isdigit() or not any(
        getattr(module, "__file__", None) == path for module in tuple(sys.modules.values())
    ):
        return ""
    return linecache.getline(path, int(line)).strip()
