"""An error is the same the first time and at every replay, whatever it is made of."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._base.recorded_error import ErrorView, decode_error, describe, encode_error
from headrace.errors import OutcomeUnknown, RateLimited, RemoteError, RunAlreadyExists, StepTimedOut


class Refused(Exception):
    def __init__(self, *, code: int, seats: set[str]) -> None:
        super().__init__(f"refused with {code}")
        self.code = code
        self.seats = seats


class Slotted(Exception):
    __slots__ = ("place",)
    place: str


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    place: str
    at: tuple[int, ...]


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Picky(Exception):
    def __new__(cls, *args: object) -> Picky:
        if args != (Picky,):
            raise TypeError("not like this")
        return super().__new__(cls)


class Shifty(Exception):
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no state")


class Outer:
    class Inner(Exception):
        pass


class Unwritable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def caught(action: Callable[[], object]) -> Exception:
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("nothing was raised")


def slotted() -> Slotted:
    error = Slotted("taken")
    error.place = "A1"
    return error


def again(error: BaseException) -> BaseException:
    return decode_error(encode_error(error))


def state(error: BaseException) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if name != "recorded_traceback"}


KEPT: list[Exception] = [
    ValueError(1, "x", (1, [2.5, None, True]), {3: b"4"}, {"$": 1}, {"a": {1, 2}}, frozenset({"b"}), "\ud800"),
    ValueError(
        timedelta.max, datetime(2026, 1, 1, tzinfo=UTC), date.min, time(1), UUID(int=5), Decimal("1.50"), Path("/a")
    ),
    Refused(code=4, seats={"a", "b"}),
    Outer.Inner("x"),
    Frozen("here", (1, 2)),
    caught(lambda: Path("/nowhere/at/all").read_text()),
    caught(lambda: int("x")),
    caught(lambda: b"\xff".decode()),
    caught(lambda: dict[str, int]()["k"]),
    caught(lambda: object().colour),  # type: ignore[attr-defined]
    caught(lambda: compile("a b", "flow.py", "exec")),
    RunAlreadyExists("r", "open"),
    RateLimited("slow down", retry_after=timedelta(seconds=3)),
    StepTimedOut("fetch", 2.5),
    OutcomeUnknown("pay", "r:1"),
    StopIteration(4),
]


@pytest.mark.parametrize("error", KEPT, ids=lambda error: type(error).__name__)
def test_an_error_is_made_again(error: Exception) -> None:
    """`except` clauses of flows and the fields that they read must work after a crash as before."""
    back = again(error)

    assert type(back) is type(error)
    assert back.args == error.args
    assert str(back) == str(error)
    assert state(back) == state(error)


def test_what_an_error_says_is_the_same_however_often_it_is_recorded() -> None:
    """A flow that lets an error pass has it recorded again, as its own."""
    for error in KEPT:
        first, second = again(error), again(again(error))

        assert (type(first), first.args, str(first), state(first)) == (
            type(second),
            second.args,
            str(second),
            state(second),
        )


def test_fields_outside_of_the_dict_are_kept() -> None:
    """`error.errno` decides what many handlers do."""
    missing = again(caught(lambda: Path("/nowhere/at/all").read_text()))
    undecodable = again(caught(lambda: b"ab\xff".decode()))
    in_slot = again(slotted())

    assert isinstance(missing, FileNotFoundError)
    assert (missing.errno, missing.filename) == (2, "/nowhere/at/all")
    assert isinstance(undecodable, UnicodeDecodeError)
    assert (undecodable.object, undecodable.start) == (b"ab\xff", 2)
    assert isinstance(in_slot, Slotted)
    assert in_slot.place == "A1"


def test_causes_and_notes_are_kept() -> None:
    """The first error of a chain is mostly the one that explains it."""
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    error.__cause__.__cause__ = Refused(code=1, seats=set())
    error.add_note("while tidying up")

    back = again(error)

    assert isinstance(back.__cause__, KeyError)
    assert isinstance(back.__cause__.__cause__, Refused)
    assert back.__notes__ == ["while tidying up"]
    assert [view.message for view in describe(encode_error(error)).causes] == ["'inner'", "refused with 1"]


def test_a_chain_without_end_is_cut() -> None:
    """An error may be its own cause, after a careless `raise ... from`."""
    error = ValueError("x")
    error.__cause__ = error

    assert len(describe(encode_error(error)).causes) == 5


def test_groups_are_made_again() -> None:
    """`except*` is how flows with a TaskGroup handle what went wrong."""
    group = ExceptionGroup("two", [ValueError(1), ExceptionGroup("deep", [Refused(code=2, seats={"a"})])])
    group.__cause__ = KeyError("k")

    back = again(group)

    assert isinstance(back, ExceptionGroup)
    assert back.message == "two"
    assert back.exceptions[0].args == (1,)
    deep = back.exceptions[1]
    assert isinstance(deep, ExceptionGroup)
    assert isinstance(deep.exceptions[0], Refused)
    assert isinstance(back.__cause__, KeyError)
    assert [member.type_name for member in describe(encode_error(group)).members] == [
        "builtins:ValueError",
        "builtins:ExceptionGroup",
    ]


def test_cancellation_is_made_again_and_interrupts_are_not() -> None:
    """A recorded Ctrl-C must not stop the process that reads about it."""
    assert isinstance(again(asyncio.CancelledError("late")), asyncio.CancelledError)
    assert isinstance(again(KeyboardInterrupt()), RemoteError)
    assert isinstance(again(SystemExit(3)), RemoteError)


def local_error() -> Exception:
    class Local(Exception):
        pass

    return Local("x")


@pytest.mark.parametrize("error", [local_error(), Picky(Picky), Mute(1)], ids=["local", "picky", "mute"])
def test_a_class_that_cannot_be_made_becomes_a_remote_error(error: Exception) -> None:
    """The run must be able to go on; the name tells what it was."""
    back = again(error)

    assert isinstance(back, RemoteError)
    assert back.type_name == f"{type(error).__module__}:{type(error).__qualname__}"
    assert str(again(back)) == str(back)


@pytest.mark.parametrize(
    "name",
    [
        "no_such_module:Gone",
        "builtins:eval",
        "builtins:int",
        "builtins:GeneratorExit",
        "os:system",
        "os;x:Y",
        "..os:Y",
        "headrace.errors:annotations.compiler_flag",
        "headrace.errors:__builtins__",
        ":",
        "",
    ],
)
def test_only_names_of_error_classes_are_looked_up(name: str) -> None:
    """What is read from the file must not decide what runs."""
    recorded = json.dumps({"type": name, "message": "m", "args": [], "state": {}}).encode()

    back = decode_error(recorded)

    assert isinstance(back, RemoteError)
    assert back.message == "m"


@pytest.mark.parametrize(
    "error",
    [Mute(), Shifty(), ValueError(Unwritable()), ValueError(10**20_000), ValueError("\ud800")],
    ids=["mute", "shifty", "unwritable", "huge int", "surrogate"],
)
def test_recording_never_raises(error: Exception) -> None:
    """An error in the error path would lose the run's own error, or the run."""
    stored = encode_error(error)

    assert describe(stored).type_name.endswith(type(error).__name__)
    assert isinstance(decode_error(stored), Exception)


def test_what_cannot_be_kept_is_named_and_marked() -> None:
    """A reader should know that the attribute was an object once."""
    stored = encode_error(ValueError(object(), [object()]))

    assert json.loads(stored)["lossy"] is True
    assert decode_error(stored).args == ("<object object>", ["<object object>"])


def test_a_huge_error_is_cut() -> None:
    """An error that quotes a whole page, or a million rows, must not fill the journal."""
    long = encode_error(ValueError("x" * 10**7))
    wide = encode_error(ValueError(["x" * 100] * 10**5))
    endless: list[object] = []
    endless.append(endless)

    assert len(long) < 400_000
    assert len(wide) < 500_000
    assert len(describe(long).message) <= 64 * 1024
    assert json.loads(long)["lossy"] is True
    assert json.loads(wide)["lossy"] is True
    assert isinstance(again(ValueError(endless)), ValueError)


def test_the_traceback_shows_where_it_happened_and_survives_a_second_raise() -> None:
    """The line in the user's code is the first thing that anybody asks for."""

    def deepest() -> None:
        raise ValueError("x")

    first = again(caught(deepest))

    def pass_on() -> None:
        raise first

    second = describe(encode_error(caught(pass_on)))

    assert "in deepest" in first.recorded_traceback  # type: ignore[attr-defined]
    assert "in deepest" in second.traceback
    assert "in pass_on" in second.traceback


def test_a_deep_recursion_keeps_both_ends_of_the_traceback() -> None:
    """A thousand equal frames say nothing that two do not."""

    def dive(depth: int) -> None:
        dive(depth + 1)

    text = describe(encode_error(caught(lambda: dive(0)))).traceback

    assert len(text) <= 8 * 1024
    assert "left out" in text
    assert "in caught" in text
    assert "in dive" in text


def test_describing_needs_no_class_of_the_user() -> None:
    """The CLI shows runs of programs whose modules it cannot import."""
    recorded = {"type": "their.module:Broken", "message": "m", "args": [], "traceback": "t", "notes": ["n"]}
    before = set(sys.modules)

    view = describe(json.dumps(recorded).encode())

    assert view == ErrorView(type_name="their.module:Broken", message="m", traceback="t", notes=("n",))
    assert set(sys.modules) == before


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5)
    | st.timedeltas()
    | st.datetimes()
    | st.dates()
    | st.uuids()
    | st.decimals(allow_nan=False)
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(values, max_size=3))
def test_arguments_of_plain_values_come_back_equal(arguments: list[object]) -> None:
    """Handlers compare arguments with what they expect."""
    error = ValueError(*arguments)

    back, once_more = again(error), again(error)

    assert back.args == error.args
    assert repr(back.args) == repr(once_more.args)
    assert "lossy" not in json.loads(encode_error(error))
