"""The API does what its description says: schemathesis draws requests from it, good ones and bad ones, and looks at the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.core.result import Ok

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

Operation = APIOperation[Any, Any, Any, Any]
ENDLESS = {"GET /api/runs/live", "GET /api/events/stream"}
BOUNDED = settings(
    max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def up(place: Place) -> Any:
    place.variables["HEADRACE_SERVER__TOKENS"] = "always"
    _, up = place.up()
    place.run("runs", "start", "nap", "--arg", "number=1")
    return up


def operations(address: str, headers: dict[str, str]) -> Iterator[Operation]:
    schema = schemathesis.openapi.from_url(f"{address}/api/openapi.json", headers=headers)
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        if found.ok().label not in ENDLESS:
            yield found.ok()


@pytest.mark.parametrize(
    "mode,of_real_runs",
    [(GenerationMode.POSITIVE, False), (GenerationMode.POSITIVE, True), (GenerationMode.NEGATIVE, False)],
)
def test_every_answer_is_as_described(up: Any, mode: GenerationMode, of_real_runs: bool) -> None:
    """A client is written from the description."""
    headers = {"Authorization": f"Bearer {Path(up['store'] + '.token').read_text()}"}
    for operation in operations(up["address"], headers):
        try:
            ask(operation, mode, headers, of_real_runs=of_real_runs)
        except Unsatisfiable:
            continue  # nothing about this request can be wrong


def ask(operation: Operation, mode: GenerationMode, headers: dict[str, str], *, of_real_runs: bool) -> None:
    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode))
    def every_answer_is_as_described(case: Case[Any]) -> None:
        if of_real_runs:
            aim(case)
        if mode is GenerationMode.POSITIVE:
            mend(case)
        case.call_and_validate(headers=headers)

    every_answer_is_as_described()


def mend(case: Case[Any]) -> None:
    """What no schema can say of a request that is right."""
    if "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid4())  # one that is drawn twice would rightly be refused
    if isinstance(case.body, dict) and "url" in case.body:
        case.body |= {"url": "http://127.0.0.1:9/hooks", "filter": "data > 1"}


def aim(case: Case[Any]) -> None:
    """What is drawn by lot is never there; so let it be about what is."""
    if "id" in case.path_parameters:
        case.path_parameters["id"] = "nap-1"
    if "wait" in case.query:
        case.query["wait"] = 0
    if isinstance(case.body, dict) and "flow" in case.body:
        case.body |= {"flow": "doubled", "arguments": {"number": len(str(case.body))}, "id": str(uuid4())}
