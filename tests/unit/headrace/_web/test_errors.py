"""One table from error classes to HTTP."""

from __future__ import annotations

import inspect

import pytest

from headrace import errors
from headrace._web.errors import STATUS, answer_to


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_has_a_status(name: str) -> None:
    """An error that the table forgets would be a stack trace to a stranger."""
    cls = getattr(errors, name)

    assert any(issubclass(cls, kind) for kind, _, _ in STATUS)


def test_no_row_of_the_table_is_hidden_by_an_earlier_one() -> None:
    """The first row that fits counts."""
    kinds = [kind for kind, _, _ in STATUS]

    assert [
        later.__name__ for at, later in enumerate(kinds) if any(issubclass(later, earlier) for earlier in kinds[:at])
    ] == []


@pytest.mark.parametrize(
    "error,status",
    [
        (errors.StoreFull("x"), 503),
        (errors.StoreFailed("x"), 503),
        (errors.RunNotFound("x"), 404),
        (errors.RunAlreadyExists("x", "failed"), 409),
        (errors.ValueRefused("x"), 422),
        (errors.NotDeterministic("x"), 422),
        (errors.EngineUnavailable("x"), 503),
        (errors.RunFailed("x"), 500),
    ],
    ids=lambda case: type(case).__name__,
)
def test_status_says_whose_turn_it_is(error: errors.HeadraceError, status: int) -> None:
    """4xx: the caller mends the request; 5xx: the same request may pass later."""
    assert answer_to(error).status_code == status


def test_errors_module_has_only_documented_classes() -> None:
    """A class outside `__all__` would not be in the reference."""
    classes = {name for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, Exception)}

    assert classes == set(errors.__all__)
