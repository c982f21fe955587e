"""Dead letters: grouped by cause, so that one decision is enough for all that died of the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from headrace._app.dead_groups import GROUPED, dead_groups, group_named, letters_of, settled_letters
from headrace._app.event_questions import dead_letter_of
from headrace._ports.database import Reader
from headrace._web.pages.frame import InFrame, page_router
from headrace._web.pages.links import page_link
from headrace._web.pages.posted import Posted
from headrace.errors import NotFound

router = page_router()

_LETTERS = 25
SETTLED = ("redriven", "handled", "dismissed")
Letter = Annotated[int, Path(ge=1, le=2**62)]
Number = Annotated[int, Query(ge=0)]
Before = Annotated[int | None, Query(ge=1)]


@router.get("/deadletters")
async def groups(
    frame: InFrame,
    subscription: str = "",
    state: str = "",
    before: Before = None,
    did: str = "",
    letters: Number = 0,
) -> Response:
    """``state``: letters that are dead no more. ``did`` and ``letters`` tell what a button has just done, and to how many."""

    def ask(reader: Reader) -> Mapping[str, object]:
        found = dead_groups(reader, subscription=subscription)
        if state not in SETTLED:
            return {"found": found, "settled": (), "next": None}
        settled, following = settled_letters(reader, state, before=before, count=_LETTERS)
        return {"found": found, "settled": settled, "next": following}

    return await frame.show(
        "dead_letters.html",
        ask,
        live=before is None,
        subscription=subscription,
        state=state if state in SETTLED else "",
        states=SETTLED,
        known=frame.app.subscribed,
        grouped=GROUPED,
        before=before,
        did=did,
        letters=letters,
    )


@router.get("/deadletters/groups/{key}")
async def group(frame: InFrame, key: str, subscription: str, before: Before = None) -> Response:
    def ask(reader: Reader) -> Mapping[str, object]:
        found = group_named(reader, subscription, key)
        if found is None:
            raise NotFound(f"no letter of {subscription!r} is dead of this cause any more; /deadletters has the others")
        ids = [id for id in found.letters if before is None or id < before]
        return {
            "group": found,
            "letters": letters_of(reader, ids[:_LETTERS]),
            "next": ids[_LETTERS - 1] if len(ids) > _LETTERS else None,
        }

    return await frame.show("dead_group.html", ask, live=before is None, known=frame.app.subscribed, before=before)


@router.get("/deadletters/{letter}")
async def letter(frame: InFrame, letter: Letter, did: str = "") -> Response:
    return await frame.show(
        "dead_letter.html",
        lambda reader: {"letter": dead_letter_of(reader, letter)},
        live=True,
        known=frame.app.subscribed,
        did=did,
    )


@router.post("/deadletters/groups/{key}/{act}")
async def settle_group(frame: InFrame, key: str, act: str, posted: Posted) -> Response:
    subscription = posted.get("subscription", "")
    found = await frame.ask(lambda reader: group_named(reader, subscription, key))
    ids = () if found is None else found.letters
    if act == "redrive":
        done = await frame.app.redrive_letters(ids)
    elif act == "dismiss":
        done = await frame.app.dismiss_letters(ids)
    else:
        raise NotFound(f"letters can be redriven or dismissed, not {act!r}")
    return frame.to(page_link("/deadletters", did=act, letters=str(done)))


@router.post("/deadletters/{letter}/redrive")
async def redrive(frame: InFrame, letter: Letter) -> Response:
    await frame.app.redrive(letter)
    return frame.to(f"/deadletters/{letter}?did=redrive")


@router.post("/deadletters/{letter}/dismiss")
async def dismiss(frame: InFrame, letter: Letter) -> Response:
    await frame.app.dismiss(letter)
    return frame.to(f"/deadletters/{letter}?did=dismiss")
