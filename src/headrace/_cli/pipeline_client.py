"""What commands of pipelines speak to: the pipeline's own routes, at whoever runs the store, or in this process if nobody does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace._cli.owner import OwnerClient
from headrace._cli.problem import Problem
from headrace._cli.store_file import check_writable, load_settings

if TYPE_CHECKING:
    import httpx2

    from headrace._authoring.pipeline import Pipeline

_SECONDS = 120.0


class PipelineClient:
    """Asks routes of a pipeline; what they refuse ends the command with their words."""

    def __init__(self, http: httpx2.AsyncClient, *, here: bool) -> None:
        self._http = http
        self.here = here
        """This process runs the store, so what is begun goes on only as long as the command does."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def get(self, path: str, **query: object) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        return await self._ask("GET", path, params=given)

    async def post(self, path: str, body: object = None) -> Any:
        return await self._ask("POST", path, json={} if body is None else body)

    async def _ask(self, method: str, path: str, **what: Any) -> Any:
        import httpx2

        try:
            answer = await self._http.request(method, path, **what)
        except httpx2.HTTPError as error:
            raise Problem(
                f"the process that runs the store does not answer: {str(error) or type(error).__name__}",
                code="owner_unreachable",
                hint="whether it did what was asked is not known; look, then try again",
            ) from error
        if answer.status_code >= 400:
            raise _refusal(answer)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.json() if is_json else answer.content


def _refusal(answer: httpx2.Response) -> Problem:
    try:
        said = answer.json()["error"]
        return Problem(str(said["message"]), code=str(said["code"]), hint=str(said["hint"]))
    except (ValueError, KeyError, TypeError):
        return Problem(
            f"{answer.request.url.path} was answered with {answer.status_code}, in words that are not Headrace's",
            code="strange_answer",
            hint="does the process that runs the store run this pipeline?",
        )


@asynccontextmanager
async def connect(pipeline: Pipeline, store: Any, *, stand_ins: bool = False) -> AsyncIterator[PipelineClient]:
    """The routes of a pipeline: at the process that runs ``store``, or of this one for as long as the block lasts."""
    import httpx2

    owner = OwnerClient.reach(store)
    if owner is not None:
        if stand_ins:
            raise Problem(
                "the store is being run, with services of its own choice", code="owned", hint="leave out --stand-ins"
            )
        http = httpx2.AsyncClient(base_url=owner.address, headers=owner.headers, timeout=_SECONDS)
        async with PipelineClient(http, here=False) as client:
            yield client
        return
    async with _own(pipeline, store, stand_ins=stand_ins) as client:
        yield client


@asynccontextmanager
async def _own(pipeline: Pipeline, store: Path, *, stand_ins: bool) -> AsyncIterator[PipelineClient]:
    import httpx2

    from headrace._app.wiring import build
    from headrace._web.admission import Admission
    from headrace._web.app import create_app

    models = {pipeline.name: pipeline.settings} if pipeline.settings is not None else {}
    loaded = load_settings(models, store__path=str(store))
    check_writable(store)
    # A command does what it is told, and nothing that happens to be seen beside it.
    built = build([pipeline], loaded.settings, of_pipelines=loaded.pipelines, stand_ins=stand_ins, watch=False)
    async with built as app:
        transport = httpx2.ASGITransport(app=create_app(app, Admission(), loaded))
        http = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=None)
        async with PipelineClient(http, here=True) as client:
            yield client
