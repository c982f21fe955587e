"""``headrace doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click
from pydantic import TypeAdapter

from headrace._app.examination import (
    Finding,
    examine_bridge,
    examine_disk,
    examine_program,
    examine_store,
    examine_sync,
)
from headrace._app.keys import vault_of
from headrace._base.clock import SystemClock, to_datetime
from headrace._bridge.model import BridgeView
from headrace._cli.owner import OwnerClient, owner_of
from headrace._cli.problem import NOTHING, PARTIAL, Problem
from headrace._cli.screen import Screen, clock_time, common
from headrace._cli.store_file import check_readable, load_settings
from headrace._store.sqlite import open_sqlite_reader
from headrace.errors import HeadraceError

_SYNC_SECONDS = 0.5


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
    yield from examine_program()
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


def _disk(path: Path) -> Iterator[Finding]:
    found = list(examine_disk(path))
    yield from found
    if all(item.verdict != "fail" for item in found if item.about == "disk"):
        yield examine_sync(path, seconds=_SYNC_SECONDS)


def _store(path: Path) -> Iterator[Finding]:
    if not path.exists():
        yield Finding("ok", "store", f"{path} is not there yet; the first start makes it")
        return
    owned, now = owner_of(path) is not None, to_datetime(SystemClock().now())
    check_readable(path)
    vault = vault_of(load_settings().settings.store, veil=True)
    with open_sqlite_reader(path, vault=vault) as reader:
        yield from reader.read(lambda rows: list(examine_store(rows, path, now, owned=owned)))


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
    yield from map(examine_bridge, TypeAdapter(list[BridgeView]).validate_python(status["bridges"]))


_QUESTIONS: dict[str, Callable[[Path], Iterator[Finding]]] = {"disk": _disk, "store": _store, "owner": _owner}
