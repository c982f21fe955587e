"""Subtitles for a media library: found, translated where there is none, and every change of a job an event."""

from headrace import Pipeline, RabbitMQ, on
from headrace_pipelines.subtitles.flow import download, look_again, manage, translate
from headrace_pipelines.subtitles.lifecycle import (
    DOWNLOAD_REQUESTED,
    JOB_RETRIED,
    REQUESTED,
    TRANSLATE_REQUESTED,
    events,
    subtitles,
)
from headrace_pipelines.subtitles.metrics import consumer
from headrace_pipelines.subtitles.scanning import scan, watch_library
from headrace_pipelines.subtitles.settings import Settings
from headrace_pipelines.subtitles.wiring import wire

pipeline = Pipeline(
    "subtitles",
    flows=[manage, download, translate, look_again, scan],
    lifecycles=[subtitles],
    events=events,
    triggers=[
        on(
            (REQUESTED, JOB_RETRIED),
            manage,
            name="manager",
            job=subtitles,
            args=lambda event, job: (job.id, job.generation, job.data),
        ),
        on(
            DOWNLOAD_REQUESTED,
            download,
            name="downloader",
            job=subtitles,
            args=lambda event, job: (job.id, job.generation, event.data),
        ),
        on(
            TRANSLATE_REQUESTED,
            translate,
            name="translator",
            job=subtitles,
            args=lambda event, job: (job.id, job.generation, job.data),
        ),
        on(("subtitle.#", "job.#", "media.#", "translation.#"), consumer, name="consumer", since="beginning"),
    ],
    watchers=[watch_library],
    # Off without HEADRACE_RABBITMQ__URL. The queue is one that other programs read, as the consumers of the original did.
    bridges=[
        RabbitMQ(
            "subtitle.events",
            topics=["subtitle.#", "job.#", "media.#", "translation.#"],
            queues={"subtitle.events.consumer": ["subtitle.#", "job.#", "media.#", "translation.#"]},
            envelope="job",
        )
    ],
    metrics="headrace_pipelines.subtitles.metrics:readings",
    tables="headrace_pipelines.subtitles",
    settings=Settings,
    routes="headrace_pipelines.subtitles.routes:router",
    pages="headrace_pipelines.subtitles.pages:pages",
    wire=wire,
)
