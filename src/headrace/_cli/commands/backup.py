"""``headrace backup``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import check_readable, store_path


@click.command()
@click.argument("file")
@click.argument("target", type=click.Path(path_type=Path))
@common
def backup(screen: Screen, file: str, target: Path) -> None:
    """Copy the store FILE to TARGET, also while it is in use.

    The copy is one state of the store. It is examined and on disk before it gets its name;
    beside it, TARGET.json says what it holds. An existing TARGET is never overwritten.
    """
    from headrace._base.clock import SystemClock
    from headrace._store.maintenance import backup as copy

    path = store_path(file, instead="pg_dump copies one: pg_dump --format=custom --schema=headrace --file=TARGET URL")
    check_readable(path)
    manifest = copy(path, target.absolute(), now=SystemClock().now())
    if screen.as_json:
        screen.give(asdict(manifest) | {"file": str(target.absolute())})
        return
    runs = manifest.rows.get("runs", 0)
    screen.say(printable(f"{target}: {runs} runs, {manifest.bytes:,} bytes, sha256 {manifest.sha256[:16]}…"))
