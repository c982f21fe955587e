"""``new`` and ``revoke``: asked of the owner, or done in the file when nobody owns it."""

from __future__ import annotations

from typing import Any

import click

from headrace._access.model import Scope
from headrace._app import access
from headrace._app.view import to_plain
from headrace._cli.owner import OwnerClient, owner_of
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import change_store, store_option
from headrace._store.location import Location


@click.command()
@click.argument("name")
@click.option("--scope", type=click.Choice([scope.value for scope in Scope]), default=Scope.READ.value, show_default=True, help="What it is good for: looking, changing runs too, or making tokens too.")  # fmt: skip
@store_option
@common
def new(screen: Screen, name: str, scope: str, store: Location) -> None:
    """Make a token and show it, this once.

    Only its hash is kept. Standard output has the token and nothing else.
    """
    made = _make(store, name, scope)
    if screen.as_json:
        screen.give(made)
    else:
        screen.say(made["token"])
        screen.note(f"Token {name!r} may {_MAY[Scope(scope)]}. It is shown this once; keep it where secrets are kept.")


_MAY = {
    Scope.READ: "look at everything but tokens",
    Scope.OPERATE: "look at everything but tokens, and change runs",
    Scope.ADMIN: "do everything, tokens included",
}


def _make(store: Location, name: str, scope: str) -> Any:
    if owner_of(store) is not None:
        return OwnerClient.find(store).post("tokens", body={"name": name, "scope": scope})
    return to_plain(
        change_store(store, lambda database, clock: access.make_token(database, clock, name=name, scope=Scope(scope)))
    )


@click.command()
@click.argument("name")
@store_option
@common
def revoke(screen: Screen, name: str, store: Location) -> None:
    """Make a token useless, and log out whoever logged in with it."""
    if owner_of(store) is not None:
        revoked = OwnerClient.find(store).post("tokens", name, "revoke")
    else:
        revoked = to_plain(
            change_store(store, lambda database, clock: access.revoke_token(database, clock, name), must_exist=True)
        )
    if screen.as_json:
        screen.give(revoked)
    else:
        screen.say(f"Token {name!r} is revoked.")
