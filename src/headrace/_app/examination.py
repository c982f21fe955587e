"""What the machine and the file say when they are asked whether all is well."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from headrace._app.listing import counts_of, newest
from headrace._app.watchers import WatcherView
from headrace._base.clock import from_datetime
from headrace._base.wording import count
from headrace._bridge.model import BridgeView
from headrace._events.sharing import live_workers
from headrace._ports.database import Reader
from headrace._runs.model import SET_ASIDE
from headrace._store import health
from headrace._store.file_system import file_system_of, refuse_network_file_system
from headrace._store.keyring import keys_in_use
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import open_server
from headrace._store.statements import load
from headrace.errors import KeyMissing

_STORE = load("headrace._store", "store.sql")
_SERVER = load("headrace._store", "postgres.sql")
_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = {"tmpfs", "ramfs"}
_LITTLE_SPACE = 1 << 30
_NO_SPACE = 100 << 20
_SLOW_SYNC = 0.05


class Finding(NamedTuple):
    verdict: Literal["ok", "warn", "fail"]
    about: str
    detail: str
    hint: str = ""


def examine_program() -> Iterator[Finding]:
    yield Finding("ok", "python", f"{platform.python_implementation()} {platform.python_version()}")
    version = health.sqlite_version()
    if health.is_sound_sqlite():
        yield Finding("ok", "sqlite", version)
    else:
        yield Finding("fail", "sqlite", f"{version} can corrupt a store", "install a newer apsw")


def examine_disk(path: Path) -> Iterator[Finding]:
    folder = path.parent
    kind = file_system_of(folder.resolve(), _MOUNTS.read_text(errors="replace")) if _MOUNTS.exists() else "unknown"
    refuse_network_file_system(path)
    if kind in _IN_MEMORY:
        yield Finding("warn", "disk", f"{folder} is on {kind}: a power cut takes everything", "use a real disk")
    elif not os.access(folder, os.W_OK):
        yield Finding("fail", "disk", f"{folder} cannot be written by this user")
        return
    else:
        yield Finding("ok", "disk", f"{folder} is on {kind}")
    free = shutil.disk_usage(folder).free
    verdict: Literal["ok", "warn", "fail"] = "ok" if free > _LITTLE_SPACE else "warn" if free > _NO_SPACE else "fail"
    yield Finding(verdict, "space", f"{free / 2**30:.1f} GiB are free", "" if verdict == "ok" else "free some")


def examine_sync(path: Path, *, seconds: float) -> Finding:
    """Writes beside the store for so long, and says how quickly the disk answers."""
    typical = statistics.median(health.sync_times(path.parent, seconds=seconds))
    detail = f"the disk answers for a write in {typical * 1000:.2f} ms"
    slow = typical > _SLOW_SYNC
    return Finding("warn" if slow else "ok", "sync", detail, "every step waits that long" if slow else "")


def examine_server(url: PostgresUrl) -> Iterator[Finding]:
    """Asks on a connection of its own, whether there is a store or not."""
    with open_server(url) as server:
        row = server.read(lambda rows: rows.one(_SERVER.about_server))
    assert row is not None
    version, fsync, full_page_writes, is_standby = row
    yield Finding("ok", "server", f"Postgres {version} at {url}")
    if "off" in (fsync, full_page_writes):
        detail = f"fsync is {fsync}, full_page_writes is {full_page_writes}: a power cut takes what was acknowledged"
        yield Finding("warn", "sync", detail, "turn both on")
    if is_standby:
        yield Finding("fail", "server", "it is a standby, where nothing can be written", "give the URL of the primary")


def examine_store(reader: Reader, location: Location, now: datetime, *, owned: bool) -> Iterator[Finding]:
    yield from _encryption(reader)
    totals = counts_of(reader)
    epoch = _meta(reader, "owner_epoch") or "?"
    size = f"{size_of_store(reader, location) / 2**20:.1f} MiB"
    runs = count(sum(totals.values()), "run")
    yield Finding("ok", "store", f"{called(location)}: {size}, {runs}, opened {epoch} times")
    if not owned and _meta(reader, "left_in_order") == "no":
        yield Finding("ok", "last stop", "its last owner was killed; runs go on at the next start")
    for state in sorted(SET_ASIDE):
        if many := totals.get(state, 0):
            hint = f"see: headrace runs ls --state {state}"
            yield Finding("warn", "runs", f"{count(many, 'run')} {state}", hint)
    if workers := live_workers(reader, from_datetime(now)):
        named = ", ".join(f"{worker.pid} on {worker.host}" for worker in workers)
        yield Finding("ok", "workers", f"{count(len(workers), 'worker')} for subscriptions: process {named}")
    last = newest(reader)
    if last is not None and last.created_at > now:
        detail = f"the newest run was made at {_utc(last.created_at)}, it is {_utc(now)} now"
        yield Finding("warn", "clock", detail, "the clock went back; timers wait for the old time")


def examine_bridge(bridge: BridgeView) -> Finding:
    """Whether events leave and come in, and what waits."""
    waits = f"; {count(bridge.behind, 'position')} of the log behind, {bridge.lag:.0f} s" if bridge.behind else ""
    if bridge.state == "off":
        return Finding("warn", bridge.name, f"is off{waits}", "set HEADRACE_RABBITMQ__URL and restart")
    if bridge.state != "connected":
        detail = f"has no connection to {bridge.broker} since {_utc(bridge.since)}{waits}: {bridge.error or 'trying'}"
        return Finding("warn", bridge.name, detail, "it goes on by itself; what waits is in the log")
    refused = sum(feed.refused for feed in bridge.feeds)
    detail = f"connected to {bridge.broker} since {_utc(bridge.since)}, {bridge.confirmed} sent{waits}"
    if refused:
        return Finding("warn", bridge.name, f"{detail}; {count(refused, 'message')} refused", "see: log event feed.refused; they wait in QUEUE.dead")  # fmt: skip
    return Finding("ok", bridge.name, detail)


def examine_watcher(watcher: WatcherView) -> Finding:
    """Whether something outside is being watched."""
    if watcher.state == "waiting" and watcher.next_at is not None:
        failed = f"failed {count(watcher.failures, 'time')}, last with {watcher.error}"
        return Finding("warn", watcher.name, failed, f"it is begun again at {_utc(watcher.next_at)}")
    return Finding(
        "ok", watcher.name, f"{'watches' if watcher.state == 'running' else 'ended'} since {_utc(watcher.since)}"
    )


def _encryption(reader: Reader) -> Iterator[Finding]:
    known, used = reader.vault.key_ids, keys_in_use(reader)
    missing = [key_id for key_id in used if key_id not in known]
    if missing:
        yield Finding("warn", "encryption", str(KeyMissing(*missing)))
    elif known:
        old = [key_id for key_id in used if key_id != known[0]]
        also = f"; some values are under {', '.join(old)} still" if old else ""
        hint = "headrace keys rotate" if old else ""
        yield Finding("ok", "encryption", f"values are encrypted with key {known[0]}{also}", hint)


def called(location: Location) -> str:
    """What a store is called where its place is known."""
    return str(location) if isinstance(location, Path) else f"the schema {location.schema}"


def sizes_of_file(path: Path) -> dict[str, int]:
    """Bytes of the file, and of the log beside it."""
    files = {"file": path, "log": path.with_name(path.name + "-wal")}
    return {name: one.stat().st_size if one.exists() else 0 for name, one in files.items()}


def size_of_store(reader: Reader, location: Location) -> int:
    """Bytes of a file and its log, or of the tables of a schema."""
    if isinstance(location, Path):
        return sum(sizes_of_file(location).values())
    row = reader.one(_SERVER.size, {"schema": location.schema})
    return int(row[0]) if row else 0


def _meta(reader: Reader, name: str) -> str | None:
    row = reader.one(_STORE.meta_value, {"name": name})
    return None if row is None else str(row[0])


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
