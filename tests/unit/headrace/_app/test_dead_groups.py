"""Dead letters that have one cause are one thing to decide about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from headrace import Event, Pipeline, Retry, on
from headrace._app import dead_groups
from headrace._app.dead_groups import DeadGroups, group_named, letters_of, settled_letters, shape_of
from headrace.testing import Harness

ONCE = Retry(attempts=1)
broken = {"bell", "door"}


async def listen(event: Event[Any]) -> None:
    number = int(event.subject.partition("-")[2])
    if "bell" in broken:
        raise OSError(f"bell {number} does not ring for '{event.subject}'")


async def watch(event: Event[Any]) -> None:
    if "door" in broken:
        raise ValueError(f"nobody is at door {event.position}")


PIPELINE = Pipeline(
    "house", triggers=[on("bell.#", listen, retry=ONCE), on(("bell.#", "door.#"), watch, name="watch", retry=ONCE)]
)


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    broken.update({"bell", "door"})
    async with Harness(PIPELINE) as running:
        for number in range(1, 5):
            await running.publish("bell.rung", subject=f"bell-{number}")
        await running.publish("door.opened", subject="front")
        await running.settle()
        yield running


def look(house: Harness, **wanted: Any) -> DeadGroups:
    return house.app.database.read(lambda reader: dead_groups.dead_groups(reader, **wanted))


async def test_letters_of_one_cause_and_subscription_are_a_group(house: Harness) -> None:
    """A hundred letters of one outage are one decision; those of another handler are another."""
    found = look(house)

    assert [(one.subscription, one.type, one.message, len(one.letters)) for one in found.groups] == [
        ("house.watch", "ValueError", "nobody is at door …", 5),
        ("house.listen", "OSError", "bell … does not ring for …", 4),
    ]
    assert found.counts == {"house.listen": 4, "house.watch": 5}
    assert found.looked == 9
    assert found.groups[0].first_at <= found.groups[0].last_at
    assert found.groups[1].example == "OSError: bell 4 does not ring for 'bell-4'"


async def test_a_group_keeps_its_address(house: Harness) -> None:
    """A link to it can be sent to a colleague, and other letters that join it do not change it."""
    key = look(house, subscription="house.listen").groups[0].key
    await house.publish("bell.rung", subject="bell-9")
    await house.settle()

    found = house.app.database.read(lambda reader: group_named(reader, "house.listen", key))

    assert found is not None
    assert len(found.letters) == 5
    assert house.app.database.read(lambda reader: group_named(reader, "house.watch", key)) is None


async def test_only_so_many_are_read(house: Harness) -> None:
    """The cause stands in a value that may be encrypted, so each letter has to be read; the rest is counted."""
    found = look(house, reach=2)

    assert (found.looked, sum(found.counts.values())) == (4, 9)


async def test_redriving_a_group_leaves_the_others(house: Harness) -> None:
    """And those that are settled already are passed over, not tried twice."""
    broken.discard("bell")
    listen_group = next(one for one in look(house).groups if one.subscription == "house.listen")
    await house.app.dismiss(listen_group.letters[0])

    tried = await house.app.redrive_letters(listen_group.letters)
    await house.settle()

    assert tried == 3
    assert [one.subscription for one in look(house).groups] == ["house.watch"]
    handled, _ = house.app.database.read(lambda reader: settled_letters(reader, "handled"))
    assert {letter.id for letter in handled} == set(listen_group.letters[1:])


async def test_dismissing_a_group_counts_it_no_more(house: Harness) -> None:
    """Kept as they are, and out of the way."""
    group = look(house).groups[0]

    assert await house.app.dismiss_letters(group.letters) == 5
    assert await house.app.dismiss_letters(group.letters) == 0
    assert [one.subscription for one in look(house).groups] == ["house.listen"]
    kept = house.app.database.read(lambda reader: letters_of(reader, group.letters))
    assert {letter.state for letter in kept} == {"dismissed"}


async def test_settled_letters_are_paged(house: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where most letters are of another state."""
    await house.app.dismiss_letters(look(house, subscription="house.watch").groups[0].letters)
    found: list[int] = []
    before: int | None = None
    for _ in range(9):
        page, before = house.app.database.read(partial(settled_letters, state="dismissed", before=before, count=2))
        found += [letter.id for letter in page]
        if before is None:
            break

    assert found == sorted(found, reverse=True)
    assert len(found) == 5


@pytest.mark.parametrize(
    "one,other,same",
    [
        ("no row 12 in table 'a'", "no row 977 in table 'b c'", True),
        ("order-39 is gone", "order-4 is gone", True),
        ("550e8400-e29b-41d4-a716-446655440000 is gone", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee is gone", True),
        ("HTTP 503 from https://a.test/1", "HTTP 404 from https://a.test/1", False),
        ("don't know what it's about", "don't know whom it's about", False),
        ("first line\nline 2", "first line\nline 3", True),
        ("value 1.5 > 2", "value 17.25 > 3", True),
    ],
)
def test_messages_are_compared_without_what_differs_in_each(one: str, other: str, same: bool) -> None:
    """Too coarse, and two causes look like one; too fine, and one outage fills the page."""
    assert (shape_of(one) == shape_of(other)) is same
