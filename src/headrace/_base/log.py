"""Events with values instead of sentences; where they go is the program's choice, never the library's."""

from __future__ import annotations

import logging

_logger = logging.getLogger("headrace")
_logger.addHandler(logging.NullHandler())


def event(level: int, name: str, /, **values: object) -> None:
    if _logger.isEnabledFor(level):
        text = " ".join(f"{key}={value!r}" for key, value in values.items() if value is not None)
        _logger.log(level, "%s %s", name, text, extra={"event": name, "values": values})


def debug(name: str, /, **values: object) -> None:
    event(logging.DEBUG, name, **values)


def info(name: str, /, **values: object) -> None:
    event(logging.INFO, name, **values)


def warning(name: str, /, **values: object) -> None:
    event(logging.WARNING, name, **values)


def error(name: str, /, **values: object) -> None:
    event(logging.ERROR, name, **values)
