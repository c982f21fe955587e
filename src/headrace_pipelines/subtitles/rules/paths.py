"""Addresses of media. Whether a path may be used is decided in `files`, on the disk."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

_NAME = "name"


class NoMediaAddress(ValueError):
    """Neither a file of this machine nor something on the web."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.url[:200]!r} is no address of a video: {self.reason}. Give one such as file:///media/Film.mkv or https://…"


def path_of(url: str) -> str | None:
    """The path of a ``file://`` address; None for something on the web, and for a video of which only the name is known."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise NoMediaAddress(url, str(error)) from error
    if parts.scheme in {"http", "https"}:
        if not parts.hostname:
            raise NoMediaAddress(url, "it names no host")
        return None
    if parts.scheme == _NAME:
        if not unquote(parts.path).strip("/ "):
            raise NoMediaAddress(url, "it names no video")
        return None
    if parts.scheme != "file":
        raise NoMediaAddress(url, f"its scheme is {parts.scheme!r}" if parts.scheme else "it has no scheme")
    if parts.netloc not in {"", "localhost"}:
        raise NoMediaAddress(url, f"the file would be on another machine, {parts.netloc!r}")
    # A question mark or a number sign in the name of a film is often not escaped.
    rest = url[len(parts.scheme) + 3 + len(parts.netloc) :] if "://" in url else parts.path
    path = unquote(rest, errors="surrogateescape")
    if not path.startswith("/") or path == "/" or "\0" in path:
        raise NoMediaAddress(url, "its path is not an absolute path of a file")
    return path


def url_of(path: str) -> str:
    """The ``file://`` address of an absolute path; one way of writing it, so that equal files have equal addresses."""
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is no absolute path")
    return "file://" + quote(str(PurePosixPath(path)).encode("utf-8", "surrogateescape"), safe="/!$&'()*+,;=:@-._~")


def url_of_name(name: str) -> str:
    """What stands for the address of a video that only somebody's own machine has: its name has to be enough."""
    return f"{_NAME}:{quote(name, safe='')}"


def is_name(url: str) -> bool:
    return url.startswith(f"{_NAME}:")
