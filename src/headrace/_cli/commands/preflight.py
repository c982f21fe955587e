"""``headrace preflight``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headrace._cli import target
from headrace._cli.problem import PARTIAL
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import open_reader, store_option
from headrace._store.location import Location

if TYPE_CHECKING:
    from headrace._engine.preflight import Preflight


@click.command()
@click.argument("targets", nargs=-1, metavar="TARGET...")
@store_option
@common
def preflight(screen: Screen, targets: tuple[str, ...], store: Location) -> None:
    """Say which open runs would not go on with this code.

    Replays every open run of the store against the pipelines of TARGET, without doing anything.
    Exit code 0: all fit. 3: some would be blocked.
    """
    pipelines = target.load(targets)
    from headrace._authoring import guard
    from headrace._authoring.pipeline import Registry
    from headrace._engine.preflight import preflight as replay

    guard.install()
    with open_reader(store) as reader:
        found = reader.read(lambda rows: replay(rows, Registry.of(pipelines)))
    if screen.as_json:
        screen.give(in_json(found))
    else:
        if found.problems:
            screen.table(
                ("RUN", "FLOW", "WHY IT WOULD BLOCK"),
                [(item.run_id, item.flow, item.reason) for item in found.problems],
            )
        fitting = found.checked - len(found.problems)
        screen.say(f"{fitting} of {found.checked} open runs fit this code ({found.rows} journal rows replayed)")
    if found.problems:
        click.get_current_context().exit(PARTIAL)


def in_json(found: Preflight) -> object:
    problems = [
        {"run": item.run_id, "number": item.number, "flow": item.flow, "reason": item.reason} for item in found.problems
    ]
    return {"checked": found.checked, "skipped": found.skipped, "rows": found.rows, "problems": problems}
