"""``headrace doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click
from pydantic import TypeAdapter

from headrace._app.examination import (
    Finding,
    called,
    examine_bridge,
    examine_disk,
    examine_program,
    examine_server,
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
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import is_there, open_reader
from headrace.errors import HeadraceError

_SYNC_SECONDS = 0.5


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
    yield from examine_program()
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


def _disk(location: Location) -> Iterator[Finding]:
    assert isinstance(location, Path)
    found = list(examine_disk(location))
    yield from found
    if all(item.verdict != "fail" for item in found if item.about == "disk"):
        yield examine_sync(location, seconds=_SYNC_SECONDS)


def _server(location: Location) -> Iterator[Finding]:
    assert isinstance(location, PostgresUrl)
    yield from examine_server(location)


def _store(location: Location) -> Iterator[Finding]:
    if not is_there(location):
        yield Finding("ok", "store", f"{called(location)} is not there yet; the first start makes it")
        return
    owned, now = owner_of(location) is not None, to_datetime(SystemClock().now())
    check_readable(location)
    vault = vault_of(load_settings().settings.store, veil=True)
    with open_reader(location, vault=vault) as reader:
        yield from reader.read(lambda rows: list(examine_store(rows, location, now, owned=owned)))


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
    yield from map(examine_bridge, TypeAdapter(list[BridgeView]).validate_python(status["bridges"]))


_Question = Callable[[Location], Iterator[Finding]]
_QUESTIONS: dict[str, _Question] = {"disk": _disk, "store": _store, "owner": _owner}
_QUESTIONS_TO_SERVERS: dict[str, _Question] = {"server": _server, "store": _store, "owner": _owner}
