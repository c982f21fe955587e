"""The log: events for people or for programs."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from headrace._base import log
from headrace._cli import logbook


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_event_is_an_object_a_line_for_programs() -> None:
    """Log shippers read JSON lines; the values must come as values."""
    out = io.StringIO()
    logbook.configure(level="info", form="json", stream=out)

    log.info("run.ended", run_id="a", seconds=2.5, missing=None)

    line = json.loads(out.getvalue())
    assert line.pop("at").endswith("+00:00")
    assert line == {"level": "info", "event": "run.ended", "run_id": "a", "seconds": 2.5}


def test_event_is_a_line_for_people() -> None:
    """An operator reads it at three in the morning."""
    out = io.StringIO()
    logbook.configure(level="info", form="console", stream=out)

    log.warning("run.blocked", run_id="a b", reason="x\x1b[0m")

    assert out.getvalue().partition(" ")[2] == "warning run.blocked  run_id='a b' reason=x [0m\n"


def test_auto_writes_json_when_nobody_looks() -> None:
    """A service manager's journal is no terminal."""
    out = io.StringIO()
    logbook.configure(level="info", form="auto", stream=out)

    log.info("run.ended")

    assert json.loads(out.getvalue())["event"] == "run.ended"


def test_sentences_of_others_keep_their_logger() -> None:
    """A pipeline logs as it likes; it must not be lost."""
    out = io.StringIO()
    logbook.configure(level="info", form="json", stream=out)

    logging.getLogger("mine").info("hello %s", "you")

    assert json.loads(out.getvalue())["event"] == "hello you"
    assert json.loads(out.getvalue())["logger"] == "mine"


def test_lower_levels_are_left_out() -> None:
    """DEBUG is for developers."""
    out = io.StringIO()
    logbook.configure(level="warning", form="json", stream=out)

    log.info("run.ended")

    assert out.getvalue() == ""


def test_clients_of_a_broker_leave_the_word_to_the_bridge() -> None:
    """A page of traceback for each lost connection hides the line that says what to do."""
    out = io.StringIO()
    logbook.configure(level="debug", form="console", stream=out)
    for name in ("aiormq.connection", "aio_pika.queue"):
        logging.getLogger(name).error("the connection was closed")

    assert out.getvalue() == ""
