"""``ls``."""

from __future__ import annotations

import click

from headrace._app.access import TokenList, TokenView, list_tokens
from headrace._app.view import to_plain
from headrace._cli.owner import owner_of
from headrace._cli.screen import Screen, clock_time, common
from headrace._cli.store_file import change_store, open_reader, store_option
from headrace._ports.clock import Clock
from headrace._ports.database import Database
from headrace._store.location import Location


@click.command()
@click.option("--all", "with_revoked", is_flag=True, help="Those that were revoked, too.")
@store_option
@common
def ls(screen: Screen, with_revoked: bool, store: Location) -> None:
    """List tokens; by default those that can still be used."""
    found = [token for token in _all_tokens(store).tokens if with_revoked or token.revoked_at is None]
    if screen.as_json:
        screen.give(to_plain(TokenList(tokens=tuple(found))))
    elif found:
        screen.table(("NAME", "SCOPE", "ID", "MADE", "LAST USED", "REVOKED"), list(map(_row, found)))
    else:
        screen.note("There is no token. Make one: headrace tokens new NAME")


def _row(token: TokenView) -> tuple[str, ...]:
    return (
        token.name,
        token.scope,
        token.id,
        clock_time(token.created_at),
        clock_time(token.last_used_at) or "never",
        clock_time(token.revoked_at),
    )


def _all_tokens(store: Location) -> TokenList:
    if owner_of(store) is None:
        # Not only read: the file may be an older one, without the table.
        return change_store(store, _read, must_exist=True)
    with open_reader(store) as reader:
        return reader.read(list_tokens)


async def _read(database: Database, _clock: Clock) -> TokenList:
    return database.read(list_tokens)
