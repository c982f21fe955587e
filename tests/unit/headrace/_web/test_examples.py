"""Examples are what they are examples of."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace._access.model import Scope
from headrace._app import access, app, endpoint_view, event_view, view
from headrace._bridge import model as bridge_model
from headrace._events import model
from headrace._runs.model import RunState
from headrace._web import errors, schemas
from headrace._web.examples import EXAMPLES, PROBLEMS


def model_of(name: str) -> Any:
    for home in (schemas, view, event_view, endpoint_view, access, app, model, bridge_model):
        if hasattr(home, name):
            return getattr(home, name)
    return {"RunState": RunState, "Scope": Scope}[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_fits_its_model(name: str) -> None:
    """An example with a field that is gone is copied by everybody."""
    adapter = TypeAdapter(model_of(name))

    value = adapter.validate_python(EXAMPLES[name])

    assert adapter.dump_python(value, mode="json") == EXAMPLES[name]


@pytest.mark.parametrize("status", PROBLEMS)
def test_example_problems_are_problems(status: int) -> None:
    """Clients are written by them."""
    about = PROBLEMS[status]

    made = errors.answer(status, about.code, about.message, about.hint)

    assert schemas.Problem.model_validate_json(bytes(made.body)).model_dump() == about.example
