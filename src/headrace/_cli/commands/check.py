"""``headrace check``."""

from __future__ import annotations

import click

from headrace._cli.problem import NOTHING
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import check_readable, store_path


@click.command()
@click.argument("file", required=False)
@common
def check(screen: Screen, file: str | None) -> None:
    """Examine a store FILE, also while it is in use.

    Asks SQLite for the integrity of every page and index, then whether runs, journals, messages and values go together.
    Exit code 0: sound. 4: damaged, or no store.
    """
    from headrace._store.maintenance import check as examine
    from headrace._store.statements import load

    path = store_path(file, instead="pg_amcheck examines the tables of a database")
    check_readable(path)
    questions = load("headrace._runs", "checks.sql")
    report = examine(path, {name: questions[name] for name in questions})
    if screen.as_json:
        found = [{"check": item.check, "detail": item.detail} for item in report.findings]
        screen.give(
            {
                "file": str(path),
                "sound": report.sound,
                "schema": report.schema,
                "rows": dict(report.rows),
                "findings": found,
            }
        )
    elif report.sound:
        rows = ", ".join(f"{count} in {table}" for table, count in report.rows.items() if count)
        screen.say(f"{path} is sound (schema {report.schema}; {rows or 'empty'})")
    else:
        screen.table(("CHECK", "FOUND"), [(item.check, item.detail) for item in report.findings])
        screen.note(printable(f"{path} is damaged. Stop its owner, keep the file, and restore a backup."))
    if not report.sound:
        click.get_current_context().exit(NOTHING)
