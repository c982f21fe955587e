"""``headrace doctor``."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import click

from headrace._app.inspection import page_of_runs
from headrace._base.clock import SystemClock, to_datetime
from headrace._cli.owner import OwnerClient, owner_of
from headrace._cli.problem import NOTHING, PARTIAL, Problem
from headrace._cli.screen import Screen, clock_time, common, count
from headrace._cli.store_file import load_settings, open_reader
from headrace._runs.model import SET_ASIDE
from headrace._runs.store import counts
from headrace._store import health
from headrace._store.file_system import file_system_of, refuse_network_file_system
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import StoreReader, open_server
from headrace._store.statements import load
from headrace.errors import HeadraceError

_META = load("headrace._store", "store.sql")
_SERVER = load("headrace._store", "postgres.sql")
_SYNC_SECONDS = 0.5
_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = {"tmpfs", "ramfs"}
_LITTLE_SPACE = 1 << 30
_NO_SPACE = 100 << 20


class Finding(NamedTuple):
    verdict: Literal["ok", "warn", "fail"]
    about: str
    detail: str
    hint: str = ""


@click.command()
@click.option("--store", metavar="STORE", help="The store to look at: a file, or a postgresql:// URL.")
@common
def doctor(screen: Screen, store: str | None) -> None:
    """Examine this machine, the settings and the store.

    Exit code 0: all is well. 3: something deserves a look. 4: Headrace cannot run here.
    """
    findings = list(_examine(store))
    if screen.as_json:
        screen.give([item._asdict() for item in findings])
    else:
        rows = [
            (item.verdict, item.about, f"{item.detail}; {item.hint}" if item.hint else item.detail) for item in findings
        ]
        screen.table(("", "WHAT", "FOUND"), rows, state=0)
    verdicts = {item.verdict for item in findings}
    if verdicts != {"ok"}:
        click.get_current_context().exit(NOTHING if "fail" in verdicts else PARTIAL)


def _examine(given: str | None) -> Iterator[Finding]:
    yield Finding("ok", "python", f"{platform.python_implementation()} {platform.python_version()}")
    yield _sqlite()
    try:
        location = load_settings(store__path=given).settings.store.location
    except Problem as problem:
        yield Finding("fail", "settings", problem.message)
        return
    yield Finding("ok", "settings", "can be read")
    if isinstance(location, Path) and not location.parent.is_dir():
        yield Finding(
            "fail", "store", f"the folder of {location} does not exist", "make it, or set HEADRACE_STORE__PATH"
        )
        return
    for about, question in _QUESTIONS.items() if isinstance(location, Path) else _QUESTIONS_TO_SERVERS.items():
        try:
            yield from question(location)
        except Problem as problem:
            yield Finding("fail", about, problem.message, problem.hint)
        except HeadraceError as error:
            yield Finding("fail", about, str(error))
        except OSError as error:
            yield Finding("fail", about, f"{error.filename or location}: {error.strerror}")


def _sqlite() -> Finding:
    version = health.sqlite_version()
    if health.is_sound_sqlite():
        return Finding("ok", "sqlite", version)
    return Finding("fail", "sqlite", f"{version} can corrupt a store", "install a newer apsw")


def _disk(path: Location) -> Iterator[Finding]:
    assert isinstance(path, Path)
    kind = file_system_of(path.parent.resolve(), _MOUNTS.read_text(errors="replace")) if _MOUNTS.exists() else "unknown"
    refuse_network_file_system(path)
    if kind in _IN_MEMORY:
        yield Finding("warn", "disk", f"{path.parent} is on {kind}: a power cut takes everything", "use a real disk")
    elif not os.access(path.parent, os.W_OK):
        yield Finding("fail", "disk", f"{path.parent} cannot be written by this user")
        return
    else:
        yield Finding("ok", "disk", f"{path.parent} is on {kind}")
    free = shutil.disk_usage(path.parent).free
    verdict: Literal["ok", "warn", "fail"] = "ok" if free > _LITTLE_SPACE else "warn" if free > _NO_SPACE else "fail"
    yield Finding(verdict, "space", f"{free / 2**30:.1f} GiB are free", "" if verdict == "ok" else "free some")
    typical = statistics.median(health.sync_times(path.parent, seconds=_SYNC_SECONDS))
    slow = typical > 0.05
    detail = f"the disk answers for a write in {typical * 1000:.2f} ms"
    yield Finding("warn" if slow else "ok", "sync", detail, "every step waits that long" if slow else "")


def _server(url: Location) -> Iterator[Finding]:
    assert isinstance(url, PostgresUrl)
    with open_server(url) as reader:
        row = reader.read(lambda rows: rows.one(_SERVER.about_server))
    assert row is not None
    version, fsync, full_page_writes, is_standby = row
    yield Finding("ok", "server", f"Postgres {version} at {url}")
    if "off" in (fsync, full_page_writes):
        detail = f"fsync is {fsync}, full_page_writes is {full_page_writes}: a power cut takes what was acknowledged"
        yield Finding("warn", "sync", detail, "turn both on")
    if is_standby:
        yield Finding("fail", "server", "it is a standby, where nothing can be written", "give the URL of the primary")


def _store(location: Location) -> Iterator[Finding]:
    if not _is_there(location):
        yield Finding("ok", "store", f"{_called(location)} is not there yet; the first start makes it")
        return
    with open_reader(location) as reader:
        found = {
            name: reader.read(lambda rows: rows.one(_META.meta_value, {"name": name}))  # noqa: B023 - called at once
            for name in ("owner_epoch", "left_in_order")
        }
        totals = reader.read(counts)
        newest = reader.read(lambda rows: page_of_runs(rows, count=1)).runs
        size = _size(location, reader)
    epoch = (found["owner_epoch"] or ("?",))[0]
    runs = count(sum(totals.values()), "run")
    yield Finding("ok", "store", f"{_called(location)}: {size / 2**20:.1f} MiB, {runs}, opened {epoch} times")
    if owner_of(location) is None and (found["left_in_order"] or ("yes",))[0] != "yes":
        yield Finding("ok", "last stop", "its last owner was killed; runs go on at the next start")
    aside = {state.value: totals[state] for state in SET_ASIDE if totals.get(state)}
    for state, many in aside.items():
        yield Finding("warn", "runs", f"{count(many, 'run')} {state}", f"see: headrace runs ls --state {state}")
    now = to_datetime(SystemClock().now())
    if newest and newest[0].created_at > now:
        detail = f"the newest run was made at {clock_time(newest[0].created_at)}, it is {clock_time(now)} now"
        yield Finding("warn", "clock", detail, "the clock went back; timers wait for the old time")


def _is_there(location: Location) -> bool:
    if isinstance(location, Path):
        return location.exists()
    with open_server(location) as reader:
        return bool(reader.read(lambda rows: rows.all(_SERVER.tables, {"schema": location.schema})))


def _called(location: Location) -> str:
    return str(location) if isinstance(location, Path) else f"the schema {location.schema}"


def _size(location: Location, reader: StoreReader) -> int:
    if isinstance(location, Path):
        files = (location, location.with_name(location.name + "-wal"))
        return sum(one.stat().st_size for one in files if one.exists())
    row = reader.read(lambda rows: rows.one(_SERVER.size, {"schema": location.schema}))
    return int(row[0]) if row else 0


def _owner(location: Location) -> Iterator[Finding]:
    owner = owner_of(location)
    if owner is None:
        yield Finding("ok", "owner", "nobody runs the store")
        return
    since = clock_time(to_datetime(owner.started_at))
    if owner.address is None:
        yield Finding("ok", "owner", f"process {owner.pid} since {since}, a program without API")
        return
    status = OwnerClient.find(location).get("status")
    if status["ready"]:
        yield Finding("ok", "owner", f"process {owner.pid} since {since}, answers at {owner.address}")
    else:
        yield Finding("fail", "owner", f"process {owner.pid} has stopped work: {status['failure']}", "restart it")


_Question = Callable[[Location], Iterator[Finding]]
_QUESTIONS: dict[str, _Question] = {"disk": _disk, "store": _store, "owner": _owner}
_QUESTIONS_TO_SERVERS: dict[str, _Question] = {"server": _server, "store": _store, "owner": _owner}
