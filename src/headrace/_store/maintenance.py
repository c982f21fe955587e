"""Checking and copying a store file while its owner runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw

from headrace._base.clock import Instant, to_datetime
from headrace._ports.database import Statement
from headrace._store import migrate
from headrace._store.connection import open_for_reading, translate
from headrace.errors import ConfigurationError, StoreCorrupt, StoreError

_MOST_FINDINGS = 100
_PAGES_A_STEP = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be; ``check`` names the question that found it."""

    check: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    path: Path
    schema: int
    rows: Mapping[str, int]
    findings: tuple[Finding, ...]

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


def check(path: Path, questions: Mapping[str, Statement] | None = None) -> Report:
    """Examine a file, owned or not. Each question is a query that returns no row of a sound file."""
    if not path.exists():
        raise ConfigurationError(f"there is no store at {path}")
    migrate.refuse_foreign(path)
    try:
        connection = open_for_reading(path)
    except apsw.Error as error:
        raise translate(error) from error
    try:
        return _examine(connection, path, questions or {})
    finally:
        connection.close(True)


def _examine(connection: apsw.Connection, path: Path, questions: Mapping[str, Statement]) -> Report:
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
            answers = itertools.islice(connection.execute(statement.sql), _MOST_FINDINGS)
            findings += [Finding(check=name, detail=repr(answer)) for answer in answers]
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        # What else the file holds cannot be read.
        findings.append(Finding(check="readable", detail=str(error)))
    except apsw.Error as error:
        raise translate(error) from error
    return Report(path=path, schema=schema, rows=rows, findings=tuple(findings))


def _integrity(connection: apsw.Connection) -> list[Finding]:
    answers = connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})").fetchall()
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
