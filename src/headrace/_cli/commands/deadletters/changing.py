"""What is asked of the owner: ``redrive`` and ``dismiss``."""

from __future__ import annotations

import click

from headrace._base.wording import count
from headrace._cli.owner import OwnerClient
from headrace._cli.problem import WrongUse
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import store_option
from headrace._store.location import Location


@click.command()
@click.argument("letter", metavar="[ID]", required=False, type=click.IntRange(min=1))
@click.option("--all", "all_of_them", is_flag=True, help="Try all that are dead.")
@click.option("--subscription", metavar="NAME", help="With --all: only of this subscription.")
@store_option
@common
def redrive(screen: Screen, letter: int | None, all_of_them: bool, subscription: str | None, store: Location) -> None:
    """Try a dead letter again, or --all of them.

    It comes alone: what was handled of its subject meanwhile stays handled.
    """
    if (letter is None) != all_of_them:
        raise WrongUse("say which: an ID, or --all", hint="`headrace deadletters ls` lists them")
    if subscription is not None and not all_of_them:
        raise WrongUse("--subscription goes with --all; an ID says enough")
    owner = OwnerClient.find(store)
    if letter is not None:
        _tell_one(screen, owner, letter, "redrive", "is tried again")
        return
    answer = owner.post("deadletters", "redrive", body={"subscription": subscription})
    if screen.as_json:
        screen.give(answer)
    else:
        number = answer["letters"]
        screen.say(f"{count(number, 'dead letter')} tried again" if number else "There is nothing to try again.")


@click.command()
@click.argument("letter", metavar="ID", type=click.IntRange(min=1))
@store_option
@common
def dismiss(screen: Screen, letter: int, store: Location) -> None:
    """Keep a dead letter as it is, and count it no more."""
    _tell_one(screen, OwnerClient.find(store), letter, "dismiss", "is dismissed")


def _tell_one(screen: Screen, owner: OwnerClient, letter: int, verb: str, what: str) -> None:
    answer = owner.post("deadletters", str(letter), verb)
    if screen.as_json:
        screen.give(answer)
    else:
        screen.say(f"dead letter {answer['id']} {what}")
