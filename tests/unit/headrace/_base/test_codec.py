"""What is written is read back as it was, or refused with words that help."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import socket
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag, StrEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr, computed_field, field_serializer
from typing_extensions import TypedDict

from headrace._base.codec import MAX_VALUE, CallShape, Shape
from headrace.errors import DefinitionError, ValueRefused

T = TypeVar("T")
ID = UUID(int=5)
# Naive on purpose: users have such values, too.
NAIVE, LAST = datetime.min, datetime.max  # noqa: DTZ901
DATETIME = datetime(2026, 1, 1, 5)  # noqa: DTZ001


class Colour(Enum):
    RED = 1
    BLUE = "blue"
    MIXED = (1, 2)


class Word(StrEnum):
    A = "a"


class Level(IntEnum):
    LOW = 1


class Flags(IntFlag):
    A = 1
    B = 2


class Point(NamedTuple):
    x: int
    names: set[str]


class Options(TypedDict):
    depth: int
    names: NotRequired[set[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    minute: int
    clock: float


@dataclasses.dataclass(frozen=True, slots=True)
class OwnGoal(Goal):
    shame: int = 0


@dataclasses.dataclass
class Found:
    value: int


@dataclasses.dataclass
class Missing:
    value: int
    near: list[Found | Missing] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Doubled:
    once: int
    twice: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.once


@dataclasses.dataclass
class Counted:
    times: int

    def __post_init__(self) -> None:
        self.times += 1


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


@dataclasses.dataclass
class Tree:
    children: list[Tree] = dataclasses.field(default_factory=list)
    tags: set[str] = dataclasses.field(default_factory=set)


class Reading(BaseModel):
    value: float
    raw: bytes
    marks: set[bytes] = set()


class LongReading(Reading):
    seconds: int = 0


class Renamed(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_bytes="hex", validate_by_name=True)

    raw: bytes = Field(alias="RAW")
    hidden: int = Field(default=3, exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.raw)


class Rounding(BaseModel):
    value: int

    @field_serializer("value")
    def rounded(self, value: int) -> int:
        return value // 10 * 10


class Cat(BaseModel):
    kind: Literal["cat"] = Field(default="cat", alias="Kind")


class Dog(BaseModel):
    kind: Literal["dog"] = Field(default="dog", alias="Kind")


def kind(value: object) -> str:
    return getattr(value, "__name__", None) or type(value).__name__


def moved(**names: int) -> timezone:
    return timezone(timedelta(**names))


KEPT: list[tuple[Any, Any]] = [
    (None, None),
    (bool, True),
    (int, 10**400),
    (float, math.inf),
    (float, -0.0),
    (str, '\x00\x7f\u2028"\\ 💥'),
    (bytes, b"\xff\x00"),
    (complex, 1 + 2j),
    (Fraction, Fraction(1, 3)),
    *[(Decimal, Decimal(text)) for text in ("1.50", "-0", "1E+500", "Infinity")],
    *[(date, date.min), (date, date.max), (time, time(1, 2, 3, 4)), (time, time(1, tzinfo=UTC))],
    *[(timedelta, value) for value in (timedelta.min, timedelta.max, -timedelta.resolution)],
    *[(datetime, value) for value in (NAIVE, LAST)],
    (datetime, datetime(2026, 1, 1, microsecond=1, tzinfo=moved(hours=-3, minutes=-30))),
    *[(UUID, ID), (Path, Path("/a/b")), (IPv4Address, IPv4Address("10.0.0.1"))],
    *[(Colour, member) for member in Colour],
    *[(Word, Word.A), (Level, Level.LOW), (Flags, Flags.A | Flags.B)],
    *[(Literal["a", 1], 1), (Literal[1, True], True), (Literal[1, True], 1), (Literal[Colour.RED, "RED"], Colour.RED)],
    *[(Point, Point(1, {"a", "b"})), (Options, {"depth": 1}), (Options, {"depth": 1, "names": {"x"}})],
    *[(Goal, Goal(1, math.inf)), (OwnGoal, OwnGoal(1, 1.0, 2)), (Doubled, Doubled(2)), (Box[Goal], Box(Goal(1, 2.0)))],
    (Tree, Tree([Tree([], {"b", "a"})])),
    (Reading, Reading(value=math.inf, raw=b"\xff", marks={b"\xff"})),
    (RootModel[set[int]], RootModel[set[int]]({1})),
    (Renamed, Renamed(RAW=b"\xff", hidden=4)),
    (Rounding, Rounding(value=30)),
    (list[int], []),
    (tuple[()], ()),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2)),
    (deque[int], deque([1])),
    (set[frozenset[int]], {frozenset({1, 2})}),
    (frozenset[bytes], frozenset([b"\xff"])),
    (set[float], {math.inf, 1.0}),
    *[(Sequence[int], [1]), (Mapping[str, int], {"a": 1}), (OrderedDict[int, int], OrderedDict([(2, 1), (1, 2)]))],
    *[(Counter[tuple[int, ...]], Counter({(1,): 2})), (defaultdict[str, list[int]], defaultdict(list, a=[1]))],
    (dict[int, str], {1: "a"}),
    (dict[bool, int], {True: 1}),
    (dict[bytes, int], {b"\xff": 1}),
    (dict[UUID, int], {ID: 1}),
    (dict[float, int], {1.0: 1, math.inf: 2}),
    (dict[datetime, int], {NAIVE: 1}),
    (dict[Word, int], {Word.A: 1}),
    (dict[tuple[int, int], int], {(1, 2): 3}),
    (dict[int | str, int], {1: 1, "1": 2}),
    (dict[int | None, int], {None: 1}),
    (dict[Colour, int], {Colour.RED: 1, Colour.MIXED: 2}),
    (dict[Goal, int], {Goal(1, 1.0): 1}),
    (dict[UUID | str, int], {ID: 1, str(ID): 2}),
    *[(int | None, value) for value in (1, None)],
    *[(float | int, value) for value in (1.0, 1, 1e16, 10**30, math.inf)],
    *[(int | bool, value) for value in (1, True)],
    *[(str | UUID, value) for value in (ID, str(ID), "x")],
    *[(datetime | str, value) for value in (NAIVE, "2026-01-01T00:00:00")],
    *[(date | datetime, value) for value in (date(2026, 1, 1), DATETIME)],
    *[(bytes | str, value) for value in (b"a", "YQ==")],
    *[(str | Word, value) for value in ("a", Word.A)],
    *[(int | Level, value) for value in (1, Level.LOW)],
    *[(list[int] | set[int] | tuple[int, ...], value) for value in ([1], {1}, (1,), [], set(), ())],
    *[(Found | Missing | None, value) for value in (Found(1), Missing(1, [Found(2), Missing(3)]), None)],
    *[(Goal | OwnGoal, value) for value in (Goal(1, 1.0), OwnGoal(1, 1.0))],
    *[(Reading | LongReading, value) for value in (Reading(value=1, raw=b""), LongReading(value=1, raw=b""))],
    *[(dict[str, list[Found] | list[Tree]], value) for value in ({"a": [Found(1)], "b": [Tree()]}, {})],
    *[(Options | dict[str, int], value) for value in ({"depth": 1}, {"width": 1})],
    *[(Annotated[Cat | Dog, Field(discriminator="kind")], value) for value in (Cat(), Dog())],
]

REFUSED: list[tuple[object, object, str]] = [
    (int, 1.0, "result of step fetch: Input should be a valid integer, not float"),
    (int, 10**5000, "number out of range"),
    (float, 10**400, "not int"),
    (str, b"a", "not bytes"),
    (str, "\ud800", "surrogate"),
    (date, DATETIME, "not datetime.datetime"),
    (UUID, str(ID), "not str"),
    (Path, "x", "instance of Path, not str"),
    (Literal["a"], "b", "should be 'a'"),
    (Annotated[int, Field(gt=3)], 2, "greater than 3"),
    (list[int], (1, 2), "not tuple"),
    (set[int], [1], "not list"),
    (tuple[int, ...], [1], "not list"),
    (dict[str, list[int]], {"a": [1, "2"]}, "at a.1: Input should be a valid integer, not str"),
    (list[Found], [Found(1), Found("x")], "at 1.value: Input should be a valid integer, not str"),  # type: ignore[arg-type]
    (Found | Missing, Missing(1, [Found("x")]), "at Missing.near.0.Found.value"),  # type: ignore[arg-type]
    (Found | Missing, 5, "not int"),
    (Goal, {"minute": 1, "clock": 1.0}, "instance of Goal"),
    (Goal, OwnGoal(1, 1.0), "read as a .*Goal"),
    (list[Reading], [LongReading(value=1, raw=b"")], "at 0 is a"),
    (Options, {"names": {"x"}}, "depth: Field required"),
    (Options, {"depth": 1, "colour": 2}, "no key 'colour'"),
    (Point, (1, {"a"}), "Point is expected, not a tuple"),
    (Counted, Counted(1), "at times is read as something else"),
    (Rounding, Rounding(value=31), "at value is read as something else"),
    (SecretStr, SecretStr("x"), "read as something else"),
    (re.Pattern, re.compile("a", re.IGNORECASE), "read as something else"),
    (Any, object(), "no way to write a object"),
    (Any, (item for item in "ab"), "no way to write a generator"),
    (Any, {1: 1, "1": 2}, "two keys"),
    (Any, "\ud800", "surrogate"),
]

PLAIN: list[tuple[object, str]] = [
    ({2, 1}, "[1,2]"),
    (b"\xff", '"_w=="'),
    ((1, (2,)), "[1,[2]]"),
    ({1: 2, None: 3, (1, 2): 4}, '{"1":2,"null":3,"[1,2]":4}'),
    (Found(1), '{"value":1}'),
    ([Goal(1, math.nan)], '[{"minute":1,"clock":NaN}]'),
    (Point(1, {"b", "a"}), '[1,["a","b"]]'),
    (Word.A, '"a"'),
    (Decimal("1.50"), '"1.50"'),
]


def shape(annotation: object) -> Shape:
    return Shape(annotation, where="result of step fetch")


def spelt(value: Any) -> object:
    """With the type of each part, and without the order of sets."""
    parts: list[object] = []
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [spelt(part) for part in value]
    elif isinstance(value, dict):
        parts = [spelt(part) for part in value.items()]
    elif isinstance(value, (Box, Reading)):
        parts = [spelt(part) for part in vars(value).items()]
    text = value.isoformat() if isinstance(value, datetime) else repr(value)
    return type(value).__name__, sorted(map(repr, parts)) if parts else text


def same(value: Any, back: Any) -> bool:
    return type(value) is type(back) and bool(value == back)


@pytest.mark.parametrize("annotation, value", KEPT, ids=kind)
def test_a_value_comes_back_as_it_was(annotation: object, value: object) -> None:
    """A step would hand on something else than it returned, and only after a crash."""
    stored = shape(annotation).encode(value)

    back = shape(annotation).decode(stored)

    assert same(value, back), stored
    assert shape(annotation).encode(back) == stored


@pytest.mark.parametrize("annotation", [float, Decimal, float | int, list[float], Goal], ids=kind)
def test_not_a_number_comes_back(annotation: object) -> None:
    """JSON has no NaN; as null it would end as a missing value in somebody's average."""
    nan: Any = {Decimal: Decimal("NaN"), Goal: Goal(1, math.nan)}.get(annotation, math.nan)  # type: ignore[call-overload]
    nan = [nan] if annotation == list[float] else nan

    back = shape(annotation).decode(shape(annotation).encode(nan))

    assert repr(back) == repr(nan)


@pytest.mark.parametrize("annotation, value, reason", REFUSED, ids=kind)
def test_a_value_that_does_not_fit_is_refused(annotation: object, value: object, reason: str) -> None:
    """The mistake would surface hours later, in another step, or never."""
    codec = shape(annotation)

    with pytest.raises(ValueRefused, match=reason) as refused:
        codec.decode(codec.encode(value))

    assert str(refused.value).startswith("result of step fetch")


@pytest.mark.parametrize("value, stored", PLAIN, ids=kind)
def test_without_annotation_a_value_is_plain_json(value: object, stored: str) -> None:
    """Functions without annotations work, too, and always in the same way."""
    written = shape(Any).encode(value)

    assert written.decode() == stored
    assert repr(shape(Any).decode(written)) == repr(json.loads(stored))


def test_a_new_union_reads_what_was_stored_before_it() -> None:
    """Widening an annotation is the usual way to change code under running flows."""
    stored = shape(Missing).encode(Missing(1, [Missing(2)]))

    assert shape(Missing | Tree).decode(stored) == Missing(1, [Missing(2)])
    assert shape(Missing | None).decode(stored) == Missing(1, [Missing(2)])


def test_a_new_field_with_a_default_reads_what_was_stored_before_it() -> None:
    """Every release adds fields; no run may be stuck for that."""
    assert shape(Tree).decode(b'{"children":[]}') == Tree()
    assert shape(Options).decode(b'{"depth":1,"gone":2}') == {"depth": 1}


def test_a_value_above_the_limit_is_refused_with_the_way_out() -> None:
    """A video in the journal would slow down every other run."""
    text = "x" * MAX_VALUE

    with pytest.raises(ValueRefused, match="pass a reference"):
        shape(str).encode(text)

    assert len(shape(str).encode(text[:-2])) == MAX_VALUE


@pytest.mark.parametrize("annotation", [socket.socket, Callable[[], int], Iterable[int], type[int], list[type]])
def test_an_annotation_that_cannot_be_stored_is_refused_at_definition(annotation: object) -> None:
    """Found when the step first returns, it would be too late for the run."""
    with pytest.raises(DefinitionError, match="result of step fetch"):
        shape(annotation)


# --- any annotation ----------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES: list[tuple[object, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, st.floats(allow_nan=False)),
    (str, texts),
    (bytes, st.binary(max_size=8)),
    (bool, st.booleans()),
    (UUID, st.uuids()),
    (date, st.dates()),
    (datetime, st.datetimes(timezones=st.sampled_from([None, UTC, moved(minutes=330)]))),
    (timedelta, st.timedeltas()),
    (Decimal, st.decimals(allow_nan=False)),
    (Colour, st.sampled_from(Colour)),
    (Word, st.sampled_from(Word)),
    (Goal, st.builds(Goal, st.integers(), st.floats(allow_nan=False))),
    (
        Reading,
        st.builds(Reading, value=st.floats(allow_nan=False), raw=st.binary(max_size=4), marks=st.sets(st.binary())),
    ),
    (Found | Missing, st.builds(Found, st.integers()) | st.builds(Missing, st.integers())),
]
Typed = tuple[Any, st.SearchStrategy[Any]]


def hashable(typed: Typed) -> bool:
    return typed[0] in {int, float, str, bytes, bool, UUID, date, datetime, timedelta, Decimal, Colour, Word, Goal}


# As values, because the members of these types are only known when the test runs.
List, Set, FrozenSet, Tuple, Dict, Boxed = (cast(Any, one) for one in (list, set, frozenset, tuple, dict, Box))


def grown(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    keys = st.sampled_from([leaf for leaf in LEAVES if hashable(leaf)])
    return st.one_of(
        inner.map(lambda one: (List[one[0]], st.lists(one[1], max_size=3))),
        inner.map(lambda one: (Tuple[one[0], ...], st.lists(one[1], max_size=3).map(tuple))),
        inner.map(lambda one: (one[0] | None, one[1] | st.none())),
        inner.map(lambda one: (Boxed[one[0]], one[1].map(Box))),
        keys.map(lambda one: (Set[one[0]], st.sets(one[1], max_size=4))),
        st.tuples(keys, keys).map(lambda two: (FrozenSet[Tuple[two[0][0], two[1][0]]], frozen_pairs(*two))),
        st.tuples(keys, inner).map(lambda two: (Dict[two[0][0], two[1][0]], dictionaries(*two))),
        st.tuples(inner, inner).map(lambda two: (Tuple[two[0][0], two[1][0]], st.tuples(two[0][1], two[1][1]))),
        st.tuples(keys, keys).map(lambda two: (two[0][0] | two[1][0], two[0][1] | two[1][1])),
    )


def frozen_pairs(one: Typed, other: Typed) -> st.SearchStrategy[Any]:
    return st.frozensets(st.tuples(one[1], other[1]), max_size=3)


def dictionaries(keys: Typed, items: Typed) -> st.SearchStrategy[Any]:
    return st.dictionaries(keys[1], items[1], max_size=3)


annotated = st.recursive(st.sampled_from(LEAVES), grown, max_leaves=4).flatmap(
    lambda typed: st.tuples(st.just(typed[0]), typed[1])
)


@given(annotated)
def test_any_value_of_any_annotation_comes_back(example: tuple[Any, Any]) -> None:
    """Combinations that nobody thought of are what users write."""
    annotation, value = example

    back = shape(annotation).decode(shape(annotation).encode(value))

    assert back == value
    assert spelt(back) == spelt(value)


@given(st.lists(texts, unique=True, min_size=2))
def test_the_order_of_a_set_leaves_no_trace(members: list[str]) -> None:
    """Recorded arguments are compared byte for byte by another process, with another hash seed."""
    one, other = set(members), set(dict.fromkeys(reversed(members)))

    assert shape(set[str]).encode(one) == shape(set[str]).encode(other)
    assert shape(Any).encode({"a": one}) == shape(Any).encode({"a": other})


SETS = """
from headrace._base.codec import Shape
from tests.unit.headrace._base.test_codec import *
value = [Tree([Tree([], set("xyzuvw"))], set("abcdefgh")), Point(1, set("klmnop"))]
print(Shape(Any, where="x").encode({"any": set("abcdefghi"), "deep": value}))
print(Shape(list[Tree | Point], where="x").encode(value))
print(Shape(dict[frozenset[Word | str], set[int | str]], where="x").encode({frozenset("qwertz"): set("asdf") | {1, 2}}))
"""


@pytest.mark.slow
def test_another_hash_seed_gives_the_same_bytes() -> None:
    """A replay in a new process would otherwise report arguments as changed, now and then."""
    written = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(written) == 1


# --- calls -------------------------------------------------------------------------------------------------------------


def everything(a: int, /, b: str = "b", *rest: set[str], flag: bool = False, **more: bytes) -> list[Later]:
    return [Later(a)]


early = CallShape(everything, where="step everything")


@dataclasses.dataclass
class Later:
    value: int


def call(function: Callable[..., Any]) -> CallShape:
    return CallShape(function, where=f"step {function.__name__}")


CALLS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((1,), {}, '{"a":1}'),
    ((1,), {"b": "x"}, '{"a":1,"b":"x"}'),
    ((1, "x"), {}, '{"a":1,"b":"x"}'),
    ((1, "x", {"p", "o"}, set()), {"flag": True}, '{"a":1,"b":"x","rest":[["o","p"],[]],"flag":true}'),
    ((1,), {"z": b"a", "flag": True}, '{"a":1,"flag":true,"more":{"z":"YQ=="}}'),
    ((1,), {"a": b"a"}, '{"a":1,"more":{"a":"YQ=="}}'),
]


@pytest.mark.parametrize("args, kwargs, stored", CALLS, ids=kind)
def test_a_call_is_stored_by_parameter_name(args: tuple[Any, ...], kwargs: dict[str, Any], stored: str) -> None:
    """The same call must give the same bytes however it was spelt, and mean the same when it is read."""
    shape = call(everything)

    written = shape.encode(args, kwargs)
    args_back, kwargs_back = shape.decode(written)

    assert written.decode() == stored
    assert shape.bind(args_back, kwargs_back) == shape.bind(args, kwargs)


@pytest.mark.parametrize(
    "args, kwargs, reason",
    [
        ((), {}, "without 'a'"),
        ((), {"a": 1}, "without 'a'"),
        ((1, "x"), {"b": "y"}, "two values for 'b'"),
    ],
)
def test_a_wrong_call_names_the_parameter(args: tuple[Any, ...], kwargs: dict[str, Any], reason: str) -> None:
    """The text is all that the author has to find the call."""
    with pytest.raises(DefinitionError, match=reason):
        call(everything).encode(args, kwargs)


def test_too_many_and_unknown_arguments_are_refused() -> None:
    """They would be dropped, and the step would run with less than it was given."""

    def step(a: int) -> None: ...

    with pytest.raises(DefinitionError, match="takes 1 positional"):
        call(step).encode((1, 2), {})
    with pytest.raises(DefinitionError, match="no parameter 'b'"):
        call(step).encode((1,), {"b": 1})


@pytest.mark.parametrize("value", ["x", "\ud800", True])
def test_an_argument_that_does_not_fit_names_step_and_parameter(value: object) -> None:
    """The text is all that the author has to find the mistake."""

    def step(day: date, place: str) -> None: ...

    with pytest.raises(ValueRefused, match="argument 'day' of step step: Input should be a valid date"):
        call(step).encode((value, "x"), {})


def test_annotations_may_speak_of_what_is_defined_later() -> None:
    """With postponed annotations this is ordinary Python."""
    early.check()

    assert early.result.decode(early.result.encode([Later(1)])) == [Later(1)]


def test_annotations_may_speak_of_local_names() -> None:
    """Flows in tests and closures are written inside functions."""

    @dataclasses.dataclass
    class Local:
        value: int

    def step(one: Local) -> Local:
        return one

    shape = call(step)

    assert shape.decode(shape.encode((Local(1),), {})) == ((Local(1),), {})


def test_parameters_may_share_recursive_types() -> None:
    """Definitions of one schema must not meet themselves twice."""

    def step(one: Tree, other: Tree, count: int) -> None: ...

    shape = call(step)

    assert shape.decode(shape.encode((Tree([Tree()]), Tree(), 1), {})) == ((Tree([Tree()]), Tree(), 1), {})


def test_stored_calls_survive_a_new_default() -> None:
    """Adding a parameter with a default is the ordinary way to grow a step."""

    def grown(a: int, b: int = 2, *rest: int) -> None: ...

    assert call(grown).decode(b'{"a":1}') == ((1,), {})
    assert call(grown).decode(b'{"a":1,"rest":[7,8]}') == ((1, 2, 7, 8), {})


@pytest.mark.parametrize(
    "stored, reason",
    [(b'{"a":1,"gone":2}', "'gone' of step step was stored"), (b"{}", "'a' of step step was not stored")],
)
def test_stored_calls_that_do_not_fit_name_the_parameter(stored: bytes, reason: str) -> None:
    """A run that is blocked by a change of code must say by which."""

    def step(a: int) -> None: ...

    with pytest.raises(ValueRefused, match=reason):
        call(step).decode(stored)


def test_a_parameter_that_cannot_be_stored_is_refused_where_it_is_defined() -> None:
    """File and line lead to the function; the text says what to write instead."""

    def step(a: int, wire: socket.socket) -> None: ...

    with pytest.raises(DefinitionError, match=r"argument 'wire' of step step \(.*test_codec.py:\d+\): socket"):
        call(step)


def test_a_name_that_never_appears_is_a_definition_error_at_the_check() -> None:
    """The import must pass, since the name may come; the start of the program must not."""

    def step(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    shape = call(step)

    with pytest.raises(DefinitionError, match="'Nowhere', which is not defined"):
        shape.check()
    with pytest.raises(DefinitionError, match="'Nowhere', which is not defined"):
        shape.encode((1,), {})


def test_functions_without_annotations_work() -> None:
    """Trying things out comes before annotating them."""

    def step(a, b=2):  # type: ignore[no-untyped-def]
        return a

    shape = call(step)

    assert shape.decode(shape.encode(({"x": (1,)},), {})) == (({"x": [1]},), {})
    assert shape.result.encode(None) == b"null"


def test_nothing_in_and_nothing_out() -> None:
    """The most frequent shapes: a clock tick, a side effect."""

    def step() -> None: ...

    shape = call(step)

    assert shape.encode((), {}) == b"{}"
    assert shape.decode(b"{}") == ((), {})
    assert shape.result.encode(None) == b"null"
    assert shape.result.decode(b"null") is None
    with pytest.raises(ValueRefused):
        shape.result.encode(1)
