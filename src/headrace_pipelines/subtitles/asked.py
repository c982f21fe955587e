"""Which subtitles somebody works for, read out of the events of jobs: a list of jobs would have to be asked one by one."""

from __future__ import annotations

from typing import Any

from headrace import Event, Transaction
from headrace_pipelines.subtitles.lifecycle import (
    JOB_CANCELLED,
    JOB_FAILED,
    JOB_RETRIED,
    MISSING,
    READY,
    TRANSLATED,
    subtitles,
)
from headrace_pipelines.subtitles.model import Order
from headrace_pipelines.subtitles.store import mark_asked, note_asked

_ENDS = {READY, TRANSLATED, MISSING, JOB_FAILED, JOB_CANCELLED}


def follow(tx: Transaction, event: Event[Any]) -> None:
    if event.job != subtitles.name or not event.applied:
        return
    if isinstance(event.data, Order):
        note_asked(tx, event.subject, event.data.video_url, event.data.wanted)
    elif event.topic == JOB_RETRIED or event.topic in _ENDS:
        mark_asked(tx, event.subject, is_open=event.topic == JOB_RETRIED)
