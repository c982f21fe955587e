"""Where pages of pipelines live: their routes, their files, their templates in our frame, and their places in the navigation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from fastapi.routing import APIRoute
from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, TemplateNotFound
from starlette.responses import FileResponse, Response

from headrace._authoring.pipeline import Pipeline
from headrace._web.pages.contributed import Guest, Pages
from headrace._web.pages.frame import GUEST_POLICY, HEADERS, guarded
from headrace._web.pages.links import page_link
from headrace._web.pages.navigation import NAVIGATION, Groups
from headrace._web.pages.templates import environment
from headrace.errors import ConfigurationError, NotFound

_SHARED = ("frame.html", "parts.html")
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def guest_of(pipeline: Pipeline) -> Guest | None:
    """The pages that a pipeline names as ``module:attribute``, imported now."""
    if pipeline.pages is None:
        return None
    module, _, attribute = pipeline.pages.partition(":")
    pages = getattr(import_module(module), attribute, None)
    if not isinstance(pages, Pages):
        raise ConfigurationError(f"pages={pipeline.pages!r} of pipeline {pipeline.name!r} is no headrace.pages.Pages")
    prefix = f"/p/{pipeline.name}"
    return Guest(pipeline=pipeline.name, prefix=prefix, pages=pages, environment=_environment(pages, prefix))


def navigation_with(guests: list[Guest]) -> Groups:
    """The dashboard's own places, and those of the pipelines behind the first group."""
    own = tuple((guest.title, guest.places) for guest in guests if guest.places)
    return (*NAVIGATION[:1], *own, *NAVIGATION[1:])


def router_of(guest: Guest) -> APIRouter:
    router = APIRouter(prefix=guest.prefix, route_class=_route_class(guest), include_in_schema=False)

    @router.get("/static/{digest}/{path:path}")
    async def static_file(digest: str, path: Annotated[str, InPath()]) -> Response:
        file = (guest.pages.static / unquote(path)).resolve()
        if not file.is_relative_to(guest.pages.static.resolve()) or not file.is_file():
            raise NotFound(f"pipeline {guest.pipeline!r} has no file {unquote(path)!r} in its static folder")
        return FileResponse(file, headers=_FOR_EVER if digest == _digest_of(file) else None)

    for way in guest.pages.ways:
        router.add_api_route(way.path, way.function, methods=list(way.methods), response_model=None)
    return router


def _route_class(guest: Guest) -> type[APIRoute]:
    class GuestRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = guarded(super().get_route_handler(), HEADERS | {"Content-Security-Policy": GUEST_POLICY})

            async def of_guest(request: Request) -> Response:
                request.scope["headrace.guest"] = guest
                # The gate leaves paths as they came.
                request.scope["path_params"] = {name: unquote(part) for name, part in request.path_params.items()}
                return await handle(request)

            return of_guest

    return GuestRoute


def _environment(pages: Pages, prefix: str) -> Environment:
    """Our frame around the pipeline's own templates; nothing else of ours can be reached, so it may change."""
    made = environment().overlay(loader=ChoiceLoader([_Shared(), FileSystemLoader(pages.templates)]))
    made.globals = {
        **made.globals,
        "link": lambda path="/", **query: page_link(f"{prefix}/{path.removeprefix('/')}", **query),
        "static": lambda name: _static_link(pages, prefix, name),
    }
    return made


class _Shared(BaseLoader):
    def get_source(self, own: Environment, template: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        loader = environment().loader
        if template not in _SHARED or loader is None:
            raise TemplateNotFound(template)
        return loader.get_source(own, template)


def _static_link(pages: Pages, prefix: str, name: str) -> str:
    file = pages.static / name
    if not file.is_file():
        raise ConfigurationError(f"static({name!r}): there is no file {file}")
    return f"{prefix}/static/{_digest_of(file)}/{quote(name)}"


def _digest_of(file: Path) -> str:
    found = file.stat()
    return _digest(file, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1_024)
def _digest(file: Path, changed: int, size: int) -> str:
    with file.open("rb") as content:
        together = sha256()
        while part := content.read(1024 * 1024):
            together.update(part)
    return together.hexdigest()[:12]
