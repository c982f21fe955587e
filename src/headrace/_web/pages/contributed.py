"""Pages that pipelines bring along: the public names of ``headrace.pages``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Request
from jinja2 import Environment
from starlette.responses import RedirectResponse, Response

from headrace._access.model import Scope
from headrace._app.app import Headrace
from headrace._ports.database import Reader
from headrace._web.demand import demands
from headrace._web.pages.contents import ReadRange, content_response, file_response
from headrace._web.pages.frame import Frame, Question
from headrace._web.pages.links import page_link
from headrace._web.pages.navigation import Place
from headrace._web.pages.uploads import Form, read_form
from headrace.errors import DefinitionError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

ScopeName = Literal["read", "operate", "admin"]


@dataclass(frozen=True, kw_only=True)
class Way:
    """How one function is reached."""

    path: str
    methods: tuple[str, ...]
    function: Callable[..., Any]
    title: str


class Pages:
    """The pages of a pipeline, beside the dashboard's own: ``Pipeline("goals", pages="goals.pages:pages")``.

    They stand under ``/p/<pipeline>/``, in the dashboard's frame, behind its tokens. ``module`` is ``__name__`` of the module that
    declares them: the folders ``templates`` and ``static`` beside it are theirs. ``title`` is what the navigation calls them.
    """

    def __init__(self, module: str, *, title: str = "") -> None:
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is None:
            raise DefinitionError(f"Pages({module!r}): there is no such module with a file; write Pages(__name__)")
        folder = Path(file).parent
        self.title = title
        self.templates = folder / "templates"
        self.static = folder / "static"
        self.ways: list[Way] = []

    def get(self, path: str = "/", *, title: str = "", scope: ScopeName = "read") -> Callable[[F], F]:
        """Answer GET: with a page, a file, or values, which become JSON. With a ``title`` it stands in the navigation."""
        return self._way(path, ("GET", "HEAD"), title=title, demand=demands(Scope(scope)))

    def post(self, path: str = "/", *, scope: ScopeName = "operate", most: int | None = None) -> Callable[[F], F]:
        """Answer POST, as of a form. ``most`` bytes may come, if that is more than the server takes anyway."""
        return self._way(path, ("POST",), title="", demand=demands(Scope(scope), most=most))

    def _way(self, path: str, methods: tuple[str, ...], *, title: str, demand: Callable[[F], F]) -> Callable[[F], F]:
        if not path.startswith("/"):
            raise DefinitionError(f"the path {path!r} of a page has to begin with a slash")
        if title and "{" in path:
            raise DefinitionError(
                f"the page {path!r} has parameters, so the navigation cannot lead there; leave out title="
            )
        if path.startswith("/static/"):
            raise DefinitionError(f"the path {path!r} belongs to the files in {self.static}")

        def declare(function: F) -> F:
            if any(way.path == path and way.methods == methods for way in self.ways):
                raise DefinitionError(
                    f"two functions answer {methods[0]} {path!r}; give {function.__name__} another path"
                )
            if any(way.function is function for way in self.ways):
                raise DefinitionError(
                    f"{function.__name__} answers at {path!r} already; write a function for each path"
                )
            self.ways.append(Way(path=path, methods=methods, function=demand(function), title=title))
            return function

        return declare


@dataclass(frozen=True, kw_only=True)
class Guest:
    """The pages of one pipeline, as they are installed."""

    pipeline: str
    prefix: str
    pages: Pages
    environment: Environment

    @property
    def places(self) -> tuple[Place, ...]:
        ways = (way for way in self.pages.ways if way.title)
        return tuple(Place(f"{self.prefix}{way.path}", way.title) for way in ways)

    @property
    def title(self) -> str:
        return self.pages.title or self.pipeline.replace("_", " ").capitalize()


class GuestPage:
    """One request for a page of a pipeline, and what it is answered with."""

    def __init__(self, request: Request) -> None:
        self.request = request
        guest: Guest = request.scope["headrace.guest"]
        self._guest = guest
        self._frame = Frame(request)

    @property
    def app(self) -> Headrace:
        """The running Headrace: publish, start, send, and all that can be asked."""
        return self._frame.app

    def use(self, kind: type[T]) -> T:
        """What the pipeline's wiring built, by its type, as ``use`` in a step."""
        return self.app.use(kind, pipeline=self._guest.pipeline)

    async def read(self, question: Callable[[Reader], T]) -> T:
        """Ask the store, away from the event loop; ``question`` is a function of what it reads from, as for ``Tables.read``."""
        return await self._frame.ask(question)

    async def show(
        self,
        template: str,
        question: Question | None = None,
        *,
        live: bool | str = False,
        status: int = 200,
        **values: object,
    ) -> Response:
        """Fill a template of the pipeline with values, and with the mapping that ``question`` reads from the store.

        ``live``: the page follows the store; a topic or pattern, such as ``"goal.#"``: it follows the events of that topic.
        """
        return await self._frame.show(
            template, question, live=live, status=status, environment=self._guest.environment, **values
        )

    def link(self, path: str = "/", **query: object) -> str:
        """The address of a page of this pipeline."""
        return page_link(f"{self._guest.prefix}/{path.removeprefix('/')}", **query)

    def to(self, path: str = "/", **query: object) -> Response:
        """Go to a page of this pipeline, as after a form: going back or reloading does not send it again."""
        return RedirectResponse(self.link(path, **query), status_code=303)

    def form(self) -> AbstractAsyncContextManager[Form]:
        """What was sent: ``async with page.form() as form``, then ``form["title"]`` and ``form.uploads("file")``."""
        return read_form(self.request)

    def file(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        media_type: str | None = None,
        download: bool = False,
    ) -> Response:
        """A file, whole or the part that a player asks for. Whatever is in it is shown without scripts."""
        return file_response(path, name=name, media_type=media_type, download=download)

    def content(
        self,
        read: ReadRange,
        *,
        size: int,
        media_type: str,
        name: str = "",
        version: str = "",
        download: bool = False,
    ) -> Response:
        """The same of bytes that stand elsewhere: ``read(start, stop)`` gives them part by part. ``version`` changes with the content."""
        return content_response(
            self.request, read, size=size, media_type=media_type, name=name, version=version, download=download
        )


Page = Annotated[GuestPage, Depends(GuestPage)]
"""The request, as the first parameter of a page: ``async def films(page: Page)``."""
