"""The same file under two names: a media server in a container sees ``/media/film.mkv`` where we see ``/srv/films/film.mkv``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath


@dataclass(frozen=True, slots=True)
class PathMapping:
    """Pairs of folders, theirs and ours; the longest that fits counts, and a path that none fits is the same for both."""

    pairs: tuple[tuple[str, str], ...] = ()

    def ours(self, theirs: str) -> str:
        return _mapped(theirs, self.pairs)

    def theirs(self, ours: str) -> str:
        return _mapped(ours, tuple((own, other) for other, own in self.pairs))


def _mapped(path: str, pairs: tuple[tuple[str, str], ...]) -> str:
    fitting = [(here, there) for here, there in pairs if _is_below(path, here)]
    if not fitting:
        return path
    here, there = max(fitting, key=lambda pair: len(_parts(pair[0])))
    rest = _parts(path)[len(_parts(here)) :]
    return str((PureWindowsPath if _is_windows(there) else PurePosixPath)(there, *rest))


def _is_below(path: str, folder: str) -> bool:
    above, below = _parts(folder), _parts(path)
    if _is_windows(folder):
        # There, names differ by more than the case of their letters.
        above, below = [part.casefold() for part in above], [part.casefold() for part in below]
    return bool(above) and below[: len(above)] == above


def _parts(path: str) -> list[str]:
    return list((PureWindowsPath if _is_windows(path) else PurePosixPath)(path).parts)


def _is_windows(path: str) -> bool:
    return path.startswith("\\\\") or (len(path) > 1 and path[1] == ":" and path[0].isalpha())
