"""Where stored values stand: what has to be gone through to examine all of them, or to put them under another key."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from headrace._ports.database import Reader, Row, SqlValue, Statement


@dataclass(frozen=True, slots=True)
class Place:
    """A table whose rows have values that went through ``seal``, or texts that went through ``seal_text``."""

    table: str
    key: tuple[str, ...]
    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    texts_where: str = "1 = 1"
    """Of which rows the texts may repeat values; those of others stand in the open."""

    def rows(self, reader: Reader, *, after: Row | None = None, count: int | None = None) -> Generator[PlacedRow]:
        """Its rows in the order of their keys; ``after`` is the key of the last one that was seen."""
        parameters: dict[str, SqlValue] = {} if count is None else {"count": count}
        parameters |= {f"after_{column}": part for column, part in zip(self.key, after or (), strict=False)}
        for row in reader.each(self._select(begin=after is None, limited=count is not None), parameters):
            key, values = row[: len(self.key)], row[len(self.key) : len(self.key) + len(self.values)]
            texts = row[len(self.key) + len(self.values) :]
            yield PlacedRow(
                place=self,
                key=key,
                values={name: value for name, value in zip(self.values, values, strict=True) if value},
                texts={name: text for name, text in zip(self.texts, texts, strict=True) if text},
            )

    def _select(self, *, begin: bool, limited: bool) -> Statement:
        key, asked = ", ".join(self.key), ", ".join(f":after_{column}" for column in self.key)
        where = "" if begin else f" WHERE ({key}) > ({asked})"
        limit = " LIMIT :count" if limited else ""
        texts = (f"CASE WHEN {self.texts_where} THEN {column} END" for column in self.texts)
        columns = ", ".join((*self.key, *self.values, *texts))
        return Statement(f"values_of_{self.table}", f"SELECT {columns} FROM {self.table}{where} ORDER BY {key}{limit}")

    def update(self, columns: tuple[str, ...]) -> Statement:
        """Write columns of a row anew."""
        sets = ", ".join(f"{column} = :{column}" for column in columns)
        where = " AND ".join(f"{column} = :{column}" for column in self.key)
        return Statement(f"values_to_{self.table}", f"UPDATE {self.table} SET {sets} WHERE {where}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """What one row has of values and texts, as they are stored."""

    place: Place
    key: tuple[Any, ...]
    values: dict[str, bytes]
    texts: dict[str, str]

    def __str__(self) -> str:
        named = ", ".join(f"{column} {part}" for column, part in zip(self.place.key, self.key, strict=True))
        return f"{self.place.table} ({named})"
