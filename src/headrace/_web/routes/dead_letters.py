"""Dead letters over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from headrace._app.event_questions import dead_letter_of, page_of_dead_letters
from headrace._app.event_view import DeadLetterPage, PlainDeadLetter
from headrace._web.given import App, Cursor, Limit
from headrace._web.openapi import problems
from headrace._web.schemas import RedriveAll, Redriven

router = APIRouter()

Letter = Annotated[int, Path(ge=1, le=2**63 - 1)]
State = Literal["dead", "redriven", "handled", "dismissed", "all"]


@router.get("")
async def list_dead_letters(
    app: App,
    subscription: str | None = None,
    state: Annotated[State, Query()] = "dead",
    cursor: Cursor = None,
    limit: Limit = 100,
) -> DeadLetterPage:
    """What subscriptions could not handle, the newest first."""
    wanted = None if state == "all" else state
    return app.database.read(
        lambda reader: page_of_dead_letters(reader, subscription=subscription, state=wanted, before=cursor, count=limit)
    )


@router.post("/redrive")
async def redrive_all(app: App, body: RedriveAll) -> Redriven:
    """Try all dead letters again, of one subscription if given."""
    return Redriven(letters=await app.redrive_all(body.subscription))


@router.get("/{letter}", responses=problems(404))
async def show_dead_letter(app: App, letter: Letter) -> PlainDeadLetter:
    """An event that could not be handled, with the cause."""
    return app.database.read(lambda reader: dead_letter_of(reader, letter))


@router.post("/{letter}/redrive", responses=problems(404))
async def redrive_dead_letter(app: App, letter: Letter) -> PlainDeadLetter:
    """Try it again."""
    await app.redrive(letter)
    return app.database.read(lambda reader: dead_letter_of(reader, letter))


@router.post("/{letter}/dismiss", responses=problems(404))
async def dismiss_dead_letter(app: App, letter: Letter) -> PlainDeadLetter:
    """Keep it as it is, and count it no more."""
    await app.dismiss(letter)
    return app.database.read(lambda reader: dead_letter_of(reader, letter))
