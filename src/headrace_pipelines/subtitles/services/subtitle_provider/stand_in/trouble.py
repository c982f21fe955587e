"""What the stand-in can be told to do wrong."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum


class Trouble(StrEnum):
    """Instead of an answer of the interface."""

    STATUS = "status"
    HTML = "html"
    PATIENCE = "patience"
    USED_UP_WITH_SOME_LEFT = "used up with some left"


class FileTrouble(StrEnum):
    """Instead of a subtitle, at the end of a link."""

    EMPTY = "empty"
    HTML = "html"
    ADVERT = "advert"
    WRONG_LANGUAGE = "wrong language"
    CUT_OFF = "cut off"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """One request to come that will go wrong."""

    trouble: Trouble
    at: str = ""
    """The path, without what all begin with; empty: whatever is asked next."""
    status: int = 503
    seconds: int = 0
    remaining: int = 0


@dataclass
class _Queue:
    ahead: deque[Ahead] = field(default_factory=deque)

    def next_for(self, path: str) -> Ahead | None:
        for one in self.ahead:
            if one.at in {"", path}:
                self.ahead.remove(one)
                return one
        return None


class Troubles:
    def __init__(self) -> None:
        self._requests = _Queue()
        self._files: dict[int, deque[FileTrouble]] = {}
        self._for_ever: dict[int, FileTrouble] = {}

    def add(self, times: int, ahead: Ahead) -> None:
        self._requests.ahead.extend([ahead] * times)

    def next_for(self, path: str) -> Ahead | None:
        return self._requests.next_for(path)

    def spoil(self, file_id: int, trouble: FileTrouble, times: int | None = None) -> None:
        """``None``: for ever."""
        if times is None:
            self._for_ever[file_id] = trouble
        else:
            self._files.setdefault(file_id, deque()).extend([trouble] * times)

    def of_file(self, file_id: int) -> FileTrouble | None:
        ahead = self._files.get(file_id)
        return ahead.popleft() if ahead else self._for_ever.get(file_id)

    def is_unknown(self, file_id: int) -> bool:
        return self._for_ever.get(file_id) is FileTrouble.UNKNOWN
