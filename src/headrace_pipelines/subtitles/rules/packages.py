"""The packages of the extra `subtitles`: who installed Headrace without it is told the command, not only a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class PackageMissing(ImportError):
    """A package that the subtitles pipeline needs is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package, name=package)
        self.package = package

    def __str__(self) -> str:
        return f"subtitles need the package {self.package!r}; run: pip install 'headrace[subtitles]'"


@contextmanager
def extra() -> Iterator[None]:
    """``with extra(): import langcodes``"""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise PackageMissing((missing.name or "").partition(".")[0]) from missing
