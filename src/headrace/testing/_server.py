"""What a harness needs of a Postgres database; apart, since files need no driver."""

from __future__ import annotations

import asyncio
import uuid
from typing import Self

from headrace._base.vault import Vault
from headrace._store.location import PostgresUrl
from headrace._store.postgres import PostgresDatabase, _open
from headrace._store.postgres_maintenance import drop
from headrace.testing._mortal import MortalDatabase

_PATIENCE = 5.0


class MortalServer(MortalDatabase, PostgresDatabase):
    """A schema of a database, as one that owns it loses it."""

    @classmethod
    async def open(cls, place: PostgresUrl, vault: Vault) -> Self:
        opened = await asyncio.to_thread(_open, place, True, vault)
        return cls(opened, asyncio.get_running_loop(), patience=_PATIENCE)


def fresh_schema(url: str) -> PostgresUrl:
    """A place in a database where nothing is yet."""
    return PostgresUrl(url, f"headrace_test_{uuid.uuid4().hex[:12]}")


__all__ = ["MortalServer", "drop", "fresh_schema"]
