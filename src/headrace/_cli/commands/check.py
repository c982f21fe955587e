"""``headrace check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headrace._base.wording import count
from headrace._cli.problem import NOTHING
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import check_readable, load_settings, store_location
from headrace._store.location import Location, PostgresUrl

if TYPE_CHECKING:
    from headrace._store.maintenance import Report


@click.command()
@click.argument("file", required=False)
@common
def check(screen: Screen, file: str | None) -> None:
    """Examine a store FILE, also while it is in use.

    FILE may also be a postgresql:// URL.
    Asks SQLite for the integrity of every page and index, then whether runs, journals, messages and values go together,
    then opens every value; those that are encrypted only with their key (HEADRACE_STORE__KEY).
    Exit code 0: sound. 4: damaged, or no store.
    """
    path = store_location(file)
    check_readable(path)
    report = _examine(path)
    if screen.as_json:
        found = [{"check": item.check, "detail": item.detail} for item in report.findings]
        screen.give(
            {
                "file": str(path),
                "sound": report.sound,
                "schema": report.schema,
                "rows": dict(report.rows),
                "unopened": report.unopened,
                "findings": found,
            }
        )
    elif report.sound:
        rows = ", ".join(f"{count} in {table}" for table, count in report.rows.items() if count)
        screen.say(f"{path} is sound (schema {report.schema}; {rows or 'empty'})")
    else:
        screen.table(("CHECK", "FOUND"), [(item.check, item.detail) for item in report.findings])
        screen.note(printable(f"{path} is damaged. Stop its owner, keep the file, and restore a backup."))
    if report.sound and isinstance(path, PostgresUrl) and not screen.as_json:
        screen.note("Pages and indexes of a database are examined by the server's own pg_amcheck.")
    if report.unopened and not screen.as_json:
        screen.note(
            f"{count(report.unopened, 'value')} could not be looked into: encrypted, and the key was not given."
        )
    if not report.sound:
        click.get_current_context().exit(NOTHING)


def _examine(store: Location) -> Report:
    from headrace._app.checks import questions
    from headrace._app.keys import PLACES, vault_of

    vault = vault_of(load_settings().settings.store)
    if isinstance(store, PostgresUrl):
        from headrace._store.postgres_maintenance import check as examine_tables

        return examine_tables(store, questions(), places=PLACES, vault=vault)
    from headrace._store.maintenance import check as examine

    return examine(store, questions(), places=PLACES, vault=vault)
