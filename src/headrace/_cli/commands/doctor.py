"""``headrace doctor``."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import click

from headrace._app.inspection import page_of_runs
from headrace._app.keys import vault_of
from headrace._base.clock import SystemClock, to_datetime
from headrace._base.vault import Vault
from headrace._cli.owner import OwnerClient, owner_of
from headrace._cli.problem import NOTHING, PARTIAL, Problem
from headrace._cli.screen import Screen, clock_time, common, count
from headrace._cli.store_file import check_readable, load_settings
from headrace._runs.model import SET_ASIDE
from headrace._runs.store import counts
from headrace._store import health
from headrace._store.file_system import file_system_of, refuse_network_file_system
from headrace._store.keyring import keys_in_use
from headrace._store.sqlite import open_sqlite_reader
from headrace._store.statements import load
from headrace.errors import HeadraceError, KeyMissing

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
@click.option("--store", type=click.Path(dir_okay=False), metavar="FILE", help="The store to look at.")
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
        path = load_settings(store__path=given).settings.store.path.absolute()
    except Problem as problem:
        yield Finding("fail", "settings", problem.message)
        return
    yield Finding("ok", "settings", "can be read")
    if not path.parent.is_dir():
        yield Finding("fail", "store", f"the folder of {path} does not exist", "make it, or set HEADRACE_STORE__PATH")
        return
    for about, question in _QUESTIONS.items():
        try:
            yield from question(path)
        except Problem as problem:
            yield Finding("fail", about, problem.message, problem.hint)
        except HeadraceError as error:
            yield Finding("fail", about, str(error))
        except OSError as error:
            yield Finding("fail", about, f"{error.filename or path}: {error.strerror}")


def _sqlite() -> Finding:
    version = health.sqlite_version()
    if health.is_sound_sqlite():
        return Finding("ok", "sqlite", version)
    return Finding("fail", "sqlite", f"{version} can corrupt a store", "install a newer apsw")


def _disk(path: Path) -> Iterator[Finding]:
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


def _store(path: Path) -> Iterator[Finding]:
    if not path.exists():
        yield Finding("ok", "store", f"{path} is not there yet; the first start makes it")
        return
    meta = load("headrace._store", "store.sql").meta_value
    check_readable(path)
    vault = vault_of(load_settings().settings.store, veil=True)
    with open_sqlite_reader(path, vault=vault) as reader:
        found = {
            name: reader.read(lambda rows: rows.one(meta, {"name": name}))  # noqa: B023 - called at once
            for name in ("owner_epoch", "left_in_order")
        }
        totals = reader.read(counts)
        newest = reader.read(lambda rows: page_of_runs(rows, count=1)).runs
        yield from _encryption(vault, reader.read(keys_in_use))
    size = sum(one.stat().st_size for one in (path, path.with_name(path.name + "-wal")) if one.exists())
    epoch = (found["owner_epoch"] or ("?",))[0]
    yield Finding(
        "ok", "store", f"{path}: {size / 2**20:.1f} MiB, {count(sum(totals.values()), 'run')}, opened {epoch} times"
    )
    if owner_of(path) is None and (found["left_in_order"] or ("yes",))[0] != "yes":
        yield Finding("ok", "last stop", "its last owner was killed; runs go on at the next start")
    aside = {state.value: totals[state] for state in SET_ASIDE if totals.get(state)}
    for state, many in aside.items():
        yield Finding("warn", "runs", f"{count(many, 'run')} {state}", f"see: headrace runs ls --state {state}")
    now = to_datetime(SystemClock().now())
    if newest and newest[0].created_at > now:
        detail = f"the newest run was made at {clock_time(newest[0].created_at)}, it is {clock_time(now)} now"
        yield Finding("warn", "clock", detail, "the clock went back; timers wait for the old time")


def _encryption(vault: Vault, used: Collection[str]) -> Iterator[Finding]:
    missing = [key_id for key_id in used if key_id not in vault.key_ids]
    if missing:
        yield Finding("warn", "encryption", str(KeyMissing(*missing)))
    elif vault.key_ids:
        old = [key_id for key_id in used if key_id != vault.key_ids[0]]
        also = f"; some values are under {', '.join(old)} still" if old else ""
        hint = "headrace keys rotate" if old else ""
        yield Finding("ok", "encryption", f"values are encrypted with key {vault.key_ids[0]}{also}", hint)


def _owner(path: Path) -> Iterator[Finding]:
    owner = owner_of(path)
    if owner is None:
        yield Finding("ok", "owner", "nobody runs the store")
        return
    since = clock_time(to_datetime(owner.started_at))
    if owner.address is None:
        yield Finding("ok", "owner", f"process {owner.pid} since {since}, a program without API")
        return
    status = OwnerClient.find(path).get("status")
    if status["ready"]:
        yield Finding("ok", "owner", f"process {owner.pid} since {since}, answers at {owner.address}")
    else:
        yield Finding("fail", "owner", f"process {owner.pid} has stopped work: {status['failure']}", "restart it")


_QUESTIONS: dict[str, Callable[[Path], Iterator[Finding]]] = {"disk": _disk, "store": _store, "owner": _owner}
