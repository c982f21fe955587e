"""The consumer: what the events of jobs say, counted once each, whatever restarts or is delivered twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace import Event, Tables, Transaction, step
from headrace_pipelines.subtitles.asked import follow
from headrace_pipelines.subtitles.lifecycle import (
    Failed,
    Missing,
    Ready,
    Translated,
    TranslationCompleted,
)
from headrace_pipelines.subtitles.store import Store, count

if TYPE_CHECKING:
    from headrace.web import Reading

Counted = tuple[str, dict[str, str], float]

_HELP = {
    "subtitles_events_total": "Events, by type and by who said them.",
    "subtitles_ready_total": "Subtitles that were found, by provider and language.",
    "subtitles_translated_total": "Subtitles that were translated, by languages and model.",
    "subtitles_missing_total": "Searches that found nothing, by language and reason.",
    "subtitles_failed_total": "Jobs that failed, by what went wrong.",
    "subtitles_flagged_cues_total": "Cues that kept their source text.",
    "subtitles_translation_tokens_total": "Tokens that translations took, by model and by question or answer.",
    "subtitles_translation_cost_total": "What translations cost, by model.",
    "subtitles_translation_seconds_sum": "Seconds that translations took.",
    "subtitles_translation_seconds_count": "Translations that were timed.",
    "subtitles_translation_seconds_bucket": "Translations that took at most so many seconds.",
}
_SECONDS = (5, 15, 60, 300, 900, 3600)


@step(transactional=True)
def consumer(tx: Transaction, event: Event[Any]) -> None:
    """Count an event, and note who waits for what, in the transaction that moves the cursor."""
    follow(tx, event)
    count(tx, ((name, json.dumps(labels, sort_keys=True), value) for name, labels, value in _counted(event)))


def _counted(event: Event[Any]) -> Iterator[Counted]:
    yield "subtitles_events_total", {"type": event.topic, "source": event.source}, 1
    if event.applied is False:
        return
    match event.data:
        case Ready() as ready:
            yield "subtitles_ready_total", {"provider": ready.source, "language": ready.language}, 1
        case Translated() as done:
            labels = {"from": done.source_language, "to": done.target_language, "model": done.model}
            yield "subtitles_translated_total", labels, 1
            yield "subtitles_flagged_cues_total", {}, len(done.flagged)
        case Missing() as missing:
            yield "subtitles_missing_total", {"language": missing.language, "reason": missing.reason}, 1
        case Failed() as failed:
            yield "subtitles_failed_total", {"error_type": failed.error_type}, 1
        case TranslationCompleted() as completed:
            yield from _completed(completed)


def _completed(done: TranslationCompleted) -> Iterator[Counted]:
    yield "subtitles_translation_tokens_total", {"model": done.model, "of": "question"}, done.prompt_tokens
    yield "subtitles_translation_tokens_total", {"model": done.model, "of": "answer"}, done.completion_tokens
    yield "subtitles_translation_cost_total", {"model": done.model}, done.cost
    yield "subtitles_translation_seconds_sum", {}, done.duration_seconds
    yield "subtitles_translation_seconds_count", {}, 1
    for most in (*_SECONDS, None):
        if most is None or done.duration_seconds <= most:
            yield "subtitles_translation_seconds_bucket", {"le": "+Inf" if most is None else str(most)}, 1


def readings(tables: Tables) -> list[Reading]:
    """All that was counted, for ``/metrics``."""
    from headrace.web import Reading

    samples: dict[str, list[tuple[dict[str, str], float]]] = {name: [] for name in _HELP}
    for name, labels, value in Store(tables).counts():
        samples.setdefault(name, []).append((json.loads(labels), value))
    return [
        Reading(name=name, kind="counter", help=_HELP.get(name, name), samples=found) for name, found in samples.items()
    ]
