"""Start a run from a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from starlette.responses import Response

from headrace._app.inspection import detail_of
from headrace._web.pages.fields import Field, arguments_of, fields_of, filled, prefilled, with_messages
from headrace._web.pages.frame import InFrame, Number, page_router
from headrace._web.pages.links import run_link
from headrace._web.pages.posted import Posted
from headrace.errors import DefinitionError, HeadraceError, RunAlreadyExists, ValueRefused

router = page_router()

_POLICIES = ("join", "reject", "replace")


@router.get("/try")
async def choose(frame: InFrame, flow: str = "", like: str = "", number: Number = None) -> Response:
    """All flows, or the form of one; ``like`` fills it as a run was started."""
    if not flow:
        return await _show(frame, "")
    full = frame.app.registry.find(flow)
    fields = fields_of(frame.app.registry.flows[full])
    if like:
        fields = prefilled(fields, await frame.ask(lambda reader: detail_of(reader, like, number).input))
    return await _show(frame, full, fields=fields)


@router.post("/try")
async def start(frame: InFrame, posted: Posted) -> Response:
    full = frame.app.registry.find(posted.get("flow", ""))
    fields = filled(fields_of(frame.app.registry.flows[full]), posted)
    if any(field.message for field in fields):
        return await _show(frame, full, fields=fields, posted=posted, status=422)
    policy = posted.get("policy", "join")
    try:
        started = await frame.app.start_named(
            full,
            arguments_of(fields),
            run_id=posted.get("id", "").strip() or None,
            policy=cast(Literal["join", "reject", "replace"], policy if policy in _POLICIES else "join"),
        )
    except (ValueRefused, DefinitionError, RunAlreadyExists) as error:
        if isinstance(error, ValueRefused):
            fields = with_messages(fields, error)
        status = 409 if isinstance(error, RunAlreadyExists) else 422
        return await _show(frame, full, fields=fields, posted=posted, refusal=error, status=status)
    return frame.to(run_link(started.run.id, started.run.number if started.joined else None))


async def _show(
    frame: InFrame,
    flow: str,
    *,
    fields: tuple[Field, ...] = (),
    posted: Mapping[str, str] | None = None,
    refusal: HeadraceError | None = None,
    status: int = 200,
) -> Response:
    is_told = any(field.message for field in fields)
    registry = frame.app.registry
    return await frame.show(
        "try_it.html",
        status=status,
        flow=flow,
        chosen=registry.flows.get(flow),
        flows=registry.flows,
        fields=fields,
        run_id=(posted or {}).get("id", ""),
        policy=(posted or {}).get("policy", "join"),
        refusal="" if refusal is None or is_told else str(refusal),
    )
