"""Which requests are the same request."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import unquote, urlsplit, urlunsplit
from uuid import UUID, uuid5

from headrace_pipelines.subtitles.model import Order, TranslationOrder

_NAMESPACE = UUID("6f1c5f0e-0c40-5c0f-9a6e-5f9f3b1a7d21")


def job_of_order(order: Order, fingerprint: str | None) -> str:
    """The job that an order is about: the same video, wanted in the same language and sort, found and translated in the same way."""
    policy = f"{','.join(order.preferred_sources)}|{','.join(order.fallback) if order.translate else '-'}"
    return _job("download", fingerprint or normalised(order.video_url), str(order.wanted), policy)


def job_of_translation(order: TranslationOrder, content: bytes) -> str:
    """The job that asks for the translation of this text, wherever it stands."""
    flags = f"{order.hearing_impaired}|{order.forced}"
    digest = sha256(content).hexdigest()
    return _job("translate", order.subtitle_file_path, digest, order.source_language, order.target_language, flags)


def fingerprint(moviehash: str | None, size: int | None) -> str | None:
    """What tells a video from all others, wherever it lies."""
    return None if moviehash is None or size is None else f"{moviehash}/{size}"


def normalised(url: str) -> str:
    """One text for all ways to write the address of one thing."""
    parts = urlsplit(url.strip())
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    path = unquote(parts.path) or "/"
    return urlunsplit((parts.scheme.lower(), host, path, parts.query, ""))


def _job(*parts: str) -> str:
    return str(uuid5(_NAMESPACE, "\0".join(parts)))
