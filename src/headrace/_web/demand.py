"""What a request must bring to reach a route: declared at the route, enforced by the gate before anything of the route runs.

Without a declaration GET needs a token that may read and everything else one that may operate, so that a forgotten declaration
never opens anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute
from starlette.types import Scope as AsgiScope

from headrace._access.model import Scope

T = TypeVar("T", bound=Callable[..., object])

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
_MARK = "__headrace_demand__"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a route asks of those who want to reach it."""

    scope: Scope | None = None
    """None: as the method says."""
    public: bool = False
    """Everybody may, without a token; the route looks for itself whom it serves."""
    secret: bool = False
    """The answer holds a secret, so it is kept nowhere."""
    most: int | None = None
    """How many bytes may come, where that is more than usual."""

    def needed(self, method: str) -> Scope:
        return self.scope or (Scope.READ if method in SAFE else Scope.OPERATE)


USUAL = Demand()


def demands(
    scope: Scope | None = None, *, public: bool = False, secret: bool = False, most: int | None = None
) -> Callable[[T], T]:
    """Declare what the function of a route, or an application that is mounted, asks for."""
    demand = Demand(scope=scope, public=public, secret=secret, most=most)

    def declare(target: T) -> T:
        setattr(target, _MARK, demand)
        return target

    return declare


def demand_of(target: object) -> Demand:
    found = getattr(target, _MARK, USUAL)
    assert isinstance(found, Demand)
    return found


class Place(NamedTuple):
    """A route, as far as it has to be known before it runs."""

    path: re.Pattern[str]
    methods: Collection[str] | None
    demand: Demand
    parameters: frozenset[str] | None
    """What its query may have; None: anything."""


NOWHERE = Place(path=re.compile(""), methods=None, demand=USUAL, parameters=None)


class Places:
    """Finds the route that a request would reach."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = routes
        self._places: list[Place] | None = None

    def of(self, scope: AsgiScope) -> Place:
        if self._places is None:  # not before all routes are there
            self._places = list(map(_place, iter_route_contexts(self._routes)))
        for place in self._places:
            if (place.methods is None or scope["method"] in place.methods) and place.path.match(scope["path"]):
                return place
        return NOWHERE


def _place(route: Any) -> Place:
    target = getattr(route, "endpoint", None) or getattr(route, "app", None)
    dependant: Dependant | None = getattr(route, "dependant", None)
    if dependant is not None and not route.include_in_schema:
        dependant = None
    return Place(
        path=route.path_regex,
        methods=getattr(route, "methods", None),
        demand=demand_of(target),
        parameters=None if dependant is None else frozenset(_parameters(dependant)),
    )


def _parameters(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for further in dependant.dependencies:
        yield from _parameters(further)
