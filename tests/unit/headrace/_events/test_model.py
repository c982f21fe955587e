from __future__ import annotations

import os
import random
from uuid import UUID

from headrace._events.model import make_event_id

AT = 1_700_000_000_000_000


def test_ids_of_events_come_in_the_order_of_time() -> None:
    """Neighbours in time are neighbours in the index, so that a commit writes few of its pages."""
    ids = [make_event_id(AT + milliseconds * 1_000) for milliseconds in range(100)]

    assert ids == sorted(ids)
    assert {UUID(each).version for each in ids} == {7}


def test_ids_of_one_moment_differ_though_the_program_seeds_its_chance() -> None:
    """An id that was given before means that the event is not new: it would be lost without a word."""
    found = set()
    for _ in range(100):
        random.seed(1)
        found.add(make_event_id(AT))

    assert len(found) == 100


def test_a_forked_process_gives_other_ids() -> None:
    """For the same reason."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, make_event_id(AT).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 100).decode()
    for end in (reading, writing):
        os.close(end)

    assert UUID(theirs).version == 7
    assert theirs != make_event_id(AT)
