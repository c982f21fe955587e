"""What the interface of OpenSubtitles insists on before it looks at a question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

USER_AGENT = re.compile(r"\S.* v\d\S*")

_MOVIEHASH = re.compile(r"[a-f0-9]{16}")
_NUMBERS = (
    "episode_number",
    "id",
    "imdb_id",
    "page",
    "parent_feature_id",
    "parent_imdb_id",
    "parent_tmdb_id",
    "season_number",
    "tmdb_id",
    "year",
)
_WORDS: Mapping[str, tuple[str, ...]] = {
    "ai_translated": ("include", "exclude", "only"),
    "foreign_parts_only": ("include", "exclude", "only"),
    "hearing_impaired": ("include", "exclude", "only"),
    "moviehash_match": ("include", "only"),
    "order_direction": ("desc", "asc"),
    "trusted_sources": ("include", "only"),
    "type": ("all", "movie", "episode"),
}
_FREE = ("languages", "moviehash", "order_by", "query", "machine_translated")


def message(status: int, text: str, **more: JsonValue) -> Response:
    return JSONResponse({"message": text, "status": status, **more}, status)


def refusal_of_headers(request: Request, key: str) -> Response | None:
    if request.headers.get("api-key") != key:
        return message(403, "You cannot consume this service")
    if not USER_AGENT.fullmatch(request.headers.get("user-agent", "")):
        return message(403, "User-Agent header is wrong")
    if request.method == "POST" and not request.headers.get("content-type", "").startswith("application/json"):
        return message(415, "Content-Type must be application/json")
    return None


def canonical_query(raw: str) -> str:
    """The only spelling that is answered; all others are sent there."""
    kept = []
    for name, value in parse_qsl(raw, keep_blank_values=True):
        name, value = name.lower(), value.lower()
        if name.endswith(("imdb_id", "tmdb_id")):
            value = value.removeprefix("tt").lstrip("0")
        if name == "languages":
            value = ",".join(sorted(value.split(",")))
        default = _WORDS.get(name, ("",))[0]
        if name == "machine_translated" or value in {"", default} or (name, value) == ("page", "1"):
            continue
        kept.append((name, value))
    return urlencode(sorted(kept))


def is_canonical(raw: str) -> bool:
    # Spaces and signs may be written in two ways; what they say is compared.
    return parse_qsl(raw, keep_blank_values=True) == parse_qsl(canonical_query(raw), keep_blank_values=True)


def refusal_of_query(query: Sequence[tuple[str, str]]) -> Response | None:
    if not query:
        return message(400, "Not enough parameters")
    for name, value in query:
        wrong = _wrong(name, value)
        if wrong:
            return JSONResponse({"errors": [wrong], "status": 400}, 400)
    return None


def _wrong(name: str, value: str) -> str:
    if name in _NUMBERS:
        return "" if value.isdecimal() else f"{name} must be a number"
    if name in _WORDS:
        return "" if value in _WORDS[name] else f"{name} must be one of {', '.join(_WORDS[name])}"
    if name not in _FREE:
        return f"{name} is not a parameter"
    if name == "moviehash" and not _MOVIEHASH.fullmatch(value):
        return "moviehash must be 16 hexadecimal digits"
    if name == "query" and len(value) < 3:
        return "query must have at least 3 letters"
    return ""
