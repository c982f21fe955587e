"""Checking and copying a store file while its owner runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import apsw

from headrace._base.clock import Instant, SystemClock, to_datetime
from headrace._base.vault import ASIDE, PLAIN, Vault
from headrace._ports.database import Reader, Statement, Transaction
from headrace._store import migrate, ownership
from headrace._store.blobs import open_payload, unseal, unseal_text
from headrace._store.connection import Session, checkpoint, open_for_reading, open_for_writing, translate
from headrace._store.location import Location
from headrace._store.places import Place
from headrace._store.statements import load
from headrace.errors import ConfigurationError, KeyMissing, StoreBusy, StoreCorrupt, StoreError

_QUERIES = load("headrace._store", "store.sql")

MOST_FINDINGS = 100
_PAGES_A_STEP = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be; ``check`` names the question that found it."""

    check: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    path: Location
    schema: int
    rows: Mapping[str, int]
    findings: tuple[Finding, ...]
    unopened: int = 0
    """Values under keys that were not given."""

    @property
    def sound(self) -> bool:
        return not self.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds; kept beside it as ``<backup>.json``."""

    file: str
    schema: int
    rows: Mapping[str, int]
    bytes: int
    sha256: str
    created_at: str


def check(
    path: Path,
    questions: Mapping[str, Statement] | None = None,
    *,
    places: Sequence[Place] = (),
    vault: Vault = PLAIN,
) -> Report:
    """Examine a file, owned or not. Each question is a query that returns no row of a sound file.

    Values that stand at the places are opened, as far as the vault has their keys.
    """
    if not path.exists():
        raise ConfigurationError(f"there is no store at {path}")
    migrate.refuse_foreign(path)
    try:
        connection = open_for_reading(path)
    except apsw.Error as error:
        raise translate(error) from error
    try:
        return _examine(connection, path, questions or {}, ValuesCheck(Session(connection, vault), places))
    finally:
        connection.close(True)


def _examine(
    connection: apsw.Connection, path: Path, questions: Mapping[str, Statement], values: ValuesCheck
) -> Report:
    findings: list[Finding] = []
    rows: dict[str, int] = {}
    schema = 0
    try:
        connection.execute("BEGIN")
        schema = migrate.schema_version(connection)
        migrate.refuse_unreadable(connection, path, len(migrate.packaged()))
        findings += _integrity(connection)
        rows = count_rows(connection)
        for name, statement in questions.items():
            answers = itertools.islice(connection.execute(statement.sql), MOST_FINDINGS)
            findings += [Finding(check=name, detail=repr(answer)) for answer in answers]
        findings += itertools.islice(values.findings(), MOST_FINDINGS)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        # What else the file holds cannot be read.
        findings.append(Finding(check="readable", detail=str(error)))
    except StoreCorrupt as damage:
        findings.append(Finding(check="readable", detail=str(damage)))
    except apsw.Error as error:
        raise translate(error) from error
    return Report(path=path, schema=schema, rows=rows, findings=tuple(findings), unopened=values.unopened)


class ValuesCheck:
    """Opens every value; counts those whose key was not given."""

    def __init__(self, reader: Reader, places: Sequence[Place]) -> None:
        self._reader = reader
        self._places = places
        self.unopened = 0

    def findings(self) -> Iterator[Finding]:
        for place in self._places:
            for row in place.rows(self._reader):
                for column, stored in row.values.items():
                    # Whether it is there is a question of its own, and below all of them are opened.
                    if not stored.startswith(ASIDE):
                        yield from self._opened(f"{row} {column}", partial(unseal, self._reader, stored))
                for column, text in row.texts.items():
                    yield from self._opened(f"{row} {column}", partial(unseal_text, self._reader, text))
        if self._places:
            for address, stored in self._reader.each(_QUERIES.all_payloads):
                yield from self._opened("put aside", partial(open_payload, self._reader, address, stored))

    def _opened(self, where: str, open_value: Callable[[], object]) -> Iterator[Finding]:
        try:
            open_value()
        except KeyMissing:
            self.unopened += 1
        except StoreCorrupt as damage:
            yield Finding(check="value_is_whole", detail=f"{where}: {damage}")


def _integrity(connection: apsw.Connection) -> list[Finding]:
    answers = connection.execute(f"PRAGMA integrity_check({MOST_FINDINGS})").fetchall()
    return [Finding(check="integrity", detail=str(answer[0])) for answer in answers if answer[0] != "ok"]


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()
    rows = {}
    for (table,) in tables:
        quoted = str(table).replace('"', '""')
        (count,) = connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone() or (0,)
        rows[str(table)] = int(count)
    return rows


def backup(path: Path, target: Path, *, now: Instant) -> Manifest:
    """Copy a store to a new file while its owner goes on writing; the copy is examined before it gets its name."""
    if target.exists():
        raise ConfigurationError(f"{target} exists already; give another path")
    copy_file(path, target)
    manifest = _describe(target, now)
    text = json.dumps(asdict(manifest), indent=1) + "\n"
    _write_durably(manifest_path(target), text.encode())
    return manifest


def manifest_path(target: Path) -> Path:
    return target.with_name(target.name + ".json")


def copy_file(path: Path, target: Path) -> None:
    """A consistent, examined and synced copy under its final name, or none at all."""
    if not path.exists():
        raise ConfigurationError(f"there is no store at {path}")
    if not target.parent.is_dir():
        raise ConfigurationError(f"the folder of {target} does not exist; make it, or give another path")
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    try:
        _copy_pages(path, draft)
        _examine_copy(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.rename(target)
    except apsw.Error as error:
        raise translate(error) from error
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(target.parent)


def _copy_pages(path: Path, draft: Path) -> None:
    source = open_for_reading(path)
    copy = apsw.Connection(str(draft))
    try:
        # One read transaction over all steps: without it each write of the owner would start the copy again.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        with copy.backup("main", source, "main") as pages:
            while not pages.done:
                pages.step(_PAGES_A_STEP)
        # The copy of a WAL file would make a log beside it as soon as somebody looks at it.
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        copy.close(True)
        source.close(True)


def _examine_copy(draft: Path) -> None:
    connection = apsw.Connection(str(draft), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        findings = _integrity(connection)
    finally:
        connection.close(True)
    if findings:
        raise StoreCorrupt(f"the copy is damaged, so the store may be: {findings[0].detail}; run `headrace check`")


def _describe(target: Path, now: Instant) -> Manifest:
    connection = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        schema, rows = migrate.schema_version(connection), count_rows(connection)
    finally:
        connection.close(True)
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Manifest(
        file=target.name,
        schema=schema,
        rows=rows,
        bytes=target.stat().st_size,
        sha256=digest,
        created_at=to_datetime(now).isoformat(),
    )


def verify(target: Path) -> Manifest:
    """Compare a backup with its manifest; raises ``StoreCorrupt`` when they differ."""
    try:
        manifest = Manifest(**json.loads(manifest_path(target).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{target} has no readable manifest {manifest_path(target).name}") from error
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != manifest.sha256:
        raise StoreCorrupt(f"{target} is not what its manifest says: it was changed or damaged after the backup")
    return manifest


def write_anew(path: Path, vault: Vault, note: Callable[[Transaction], None]) -> None:
    """Own a file and leave nothing in it but what is in its tables, then ``note`` that; needs as much free space again."""
    lock = ownership.acquire(path, now=SystemClock().now())
    connection = None
    try:
        connection = open_for_writing(path, mode="safe")
        connection.execute("PRAGMA temp_store = FILE")  # what is being written may be larger than the memory
        connection.execute("VACUUM")
        _empty_log(connection, path)
        connection.execute("BEGIN IMMEDIATE")
        note(Session(connection, vault))
        connection.execute("COMMIT")
        checkpoint(connection, truncate=True)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    except apsw.Error as error:
        raise translate(error, 0 if connection is None else connection.system_errno) from error
    finally:
        if connection is not None:
            connection.close(True)
        lock.release()


def _empty_log(connection: apsw.Connection, path: Path) -> None:
    checkpoint(connection, truncate=True)
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise StoreBusy(f"{path} is being read, so what it had before is still in its log; try again when nobody does")


def sync_folder(folder: Path) -> None:
    """Make new names in a folder outlive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_durably(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    sync_folder(path.parent)
