"""The description of the API says what it does."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Headrace
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.errors import STATUS
from headrace._web.examples import EXAMPLES, PROBLEMS

METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return create_app(Headrace([], store="any.db"), Admission()).openapi()


def operations(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


def test_every_operation_is_told_in_words(schema: dict[str, Any]) -> None:
    """A name alone leaves a caller to guess."""
    assert [name for name, operation in operations(schema) if not operation.get("description")] == []


def test_every_answer_has_a_model(schema: dict[str, Any]) -> None:
    """A generated client reads nothing else."""
    bare = [
        f"{name}: {status}"
        for name, operation in operations(schema)
        for status, answer in operation["responses"].items()
        if status != "204"
        and "$ref" not in answer
        and not all("schema" in kind for kind in answer.get("content", {"": {}}).values())
    ]

    assert bare == []


def test_every_schema_has_an_example_and_no_example_is_left_over(schema: dict[str, Any]) -> None:
    """People read the example first."""
    schemas = schema["components"]["schemas"]

    assert sorted(EXAMPLES) == sorted(schemas)
    assert [name for name, part in schemas.items() if len(part["examples"]) != 1] == []


def test_refusals_have_the_one_shape(schema: dict[str, Any]) -> None:
    """FastAPI's own would be another one."""
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    for answer in schema["components"]["responses"].values():
        assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_every_status_of_an_error_is_described() -> None:
    """An error that maps to a status which no operation names would be an undocumented answer."""
    assert {status for _, status, _ in STATUS} <= set(PROBLEMS)


def test_scopes_and_keys_are_described(schema: dict[str, Any]) -> None:
    """They are part of how the API is used."""
    found = dict(operations(schema))

    assert found["get /api/runs"]["x-scope"] == "read"
    assert found["get /api/runs"]["security"] == [{"token": []}]
    assert found["post /api/tokens"]["x-scope"] == "admin"
    assert found["get /healthz"]["security"] == []
    with_key = {
        name
        for name, operation in found.items()
        if any(one["name"] == "Idempotency-Key" for one in operation.get("parameters", ()))
    }
    without_key = {
        "post /api/tokens",
        "post /api/webhooks",
        "post /api/webhooks/{name}/rotate",
        "post /webhooks/{name}",
    }
    assert with_key == {name for name in found if name.startswith("post ")} - without_key


def test_operations_have_short_names(schema: dict[str, Any]) -> None:
    """Generated clients call their functions so."""
    names = [operation["operationId"] for _, operation in operations(schema)]

    assert len(set(names)) == len(names)
    assert "list_runs" in names
