"""Which keys were given, and everywhere that values encrypted by them may stand."""

from __future__ import annotations

from pathlib import Path

from headrace._base.vault import Vault, read_key
from headrace._endpoints import store as endpoints
from headrace._events import store as events
from headrace._idempotency import store as idempotency
from headrace._jobs import store as jobs
from headrace._runs import store as runs
from headrace._store.places import Place
from headrace.errors import ConfigurationError
from headrace.settings import StoreSettings

PLACES: tuple[Place, ...] = (*runs.PLACES, *events.PLACES, *jobs.PLACES, *idempotency.PLACES, *endpoints.PLACES)
"""Where stored values stand, in all capabilities."""


def vault_of(settings: StoreSettings, *, veil: bool = False) -> Vault:
    return Vault(keys_of(settings), veil=veil)


def keys_of(settings: StoreSettings) -> tuple[str, ...]:
    """The keys that the settings name, the one that encrypts first; no error repeats anything of them."""
    keys = _first_keys(settings)
    old = settings.old_keys.get_secret_value() if settings.old_keys is not None else ""
    if old.strip() and not keys:
        raise ConfigurationError(
            "HEADRACE_STORE__OLD_KEYS is set and there is no first key, so new values would not be encrypted; set HEADRACE_STORE__KEY too"
        )
    keys += _named("HEADRACE_STORE__OLD_KEYS", [text for text in old.split(",") if text.strip()])
    return tuple(dict.fromkeys(keys))


def _first_keys(settings: StoreSettings) -> list[str]:
    key = settings.key.get_secret_value() if settings.key is not None else ""
    if key and settings.key_file is not None:
        raise ConfigurationError("HEADRACE_STORE__KEY and HEADRACE_STORE__KEY_FILE are both set; choose one")
    if settings.key_file is not None:
        return _named(f"HEADRACE_STORE__KEY_FILE={settings.key_file}", _lines(settings.key_file))
    return _named("HEADRACE_STORE__KEY", [key]) if key else []


def _lines(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ConfigurationError(f"HEADRACE_STORE__KEY_FILE={file} cannot be read: {error.strerror}") from error
    return [line for line in lines if line.strip()] or [""]


def _named(place: str, texts: list[str]) -> list[str]:
    for number, text in enumerate(texts, 1):
        read_key(text, place if len(texts) == 1 else f"{place}, number {number},")
    return [text.strip() for text in texts]
