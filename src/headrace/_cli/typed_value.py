"""Values as people type them: JSON, or plain text where that is no JSON."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from headrace._cli.problem import WrongUse


def value_of(text: str, place: str) -> object:
    """JSON; text that does not even look like it is taken as it is."""
    try:
        return json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise WrongUse(f"{place} is no JSON: {error}") from error
        return text


def json_of(text: str, place: str, *, example: str) -> object:
    """JSON and nothing else."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise WrongUse(f"{place} is no JSON: {error}", hint=f"for example: {example}") from error


def text_of_file(name: str, place: str) -> str:
    """The text of a file; ``-`` is standard input."""
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"{place}: {name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"{place}: {name} is no text: {error}") from error


def moment_of(text: str, place: str) -> datetime:
    """An instant in ISO 8601; one without a zone is UTC, as all that is shown."""
    try:
        found = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError as error:
        hint = f"for example: {place} 2026-01-31T12:00:00, which is UTC, or {place} 2026-01-31T13:00:00+01:00"
        raise WrongUse(f"{place} {text!r} is no instant in ISO 8601", hint=hint) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
