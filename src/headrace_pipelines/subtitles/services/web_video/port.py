"""What the pipeline needs of a video that lies on the web: enough of it to know it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The beginning and the end of a video, 64 KiB each; both empty if it is smaller than that."""

    size: int
    head: bytes
    tail: bytes


class WebVideos(Protocol):
    async def ends_of(self, url: str) -> Ends:
        """Without loading the rest. Raises ServiceRefused where it cannot be had at all, ServiceUnavailable where it may be later."""
        ...
