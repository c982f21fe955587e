"""``headrace keys rotate``."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from headrace._base.wording import count
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import check_writable, load_settings

if TYPE_CHECKING:
    from headrace._store.rotation import Rotated


@click.command()
@click.argument("file", required=False)
@common
def rotate(screen: Screen, file: str | None) -> None:
    """Put everything in the store FILE under the first key.

    FILE may also be a postgresql:// URL. The first key is HEADRACE_STORE__KEY; HEADRACE_STORE__OLD_KEYS has those that values are under now. Also encrypts what was stored
    before there was a key. Nobody may run the store meanwhile. When it is interrupted, call it again: it goes on where it was.
    At last everything is written anew, so that nothing old stays in it; that needs as much free space as the store has.
    """
    from headrace._app.keys import PLACES, vault_of
    from headrace._store.rotation import rotate_store

    settings = load_settings(store__path=file).settings.store
    store = settings.location
    check_writable(store)
    done = asyncio.run(rotate_store(store, vault_of(settings), PLACES))
    if screen.as_json:
        screen.give({"file": str(store), **asdict(done)})
    else:
        screen.say(printable(f"{store}: {in_words(done)}"))


def in_words(done: Rotated) -> str:
    if not done.rewritten and not done.forgotten and not done.written_anew:
        return f"everything is under key {done.key} already"
    said = [f"{count(done.rewritten, 'value')} put under key {done.key}"]
    if done.forgotten:
        said.append(f"nothing is under {', '.join(done.forgotten)} any more")
    if done.written_anew:
        said.append("the store was written anew")
    return "; ".join(said)
