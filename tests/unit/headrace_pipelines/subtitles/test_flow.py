"""The three flows of the story, and what becomes of them when something is in the way."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from headrace.errors import ServiceUnavailable
from headrace_pipelines.subtitles.lifecycle import QUOTA_USED_UP
from headrace_pipelines.subtitles.model import Candidate, Cue, Media, Wanted
from headrace_pipelines.subtitles.rules.formats import read
from headrace_pipelines.subtitles.services.subtitle_provider.port import Body, Standing

from .conftest import House

FOUND = [
    ("subtitle.download.requested", "manager"),
    ("subtitle.download.started", "downloader"),
    ("subtitle.ready", "downloader"),
]
TRANSLATED = [
    ("subtitle.download.requested", "manager"),
    ("subtitle.download.started", "downloader"),
    ("subtitle.translate.requested", "downloader"),
    ("subtitle.translate.started", "translator"),
    ("subtitle.translated", "translator"),
]


def cues_of(house: House, number: int, name: str) -> tuple[Cue, ...]:
    return read((house.path(number).parent / name).read_bytes()).cues


async def test_a_subtitle_that_is_found_lies_beside_its_video(house: House) -> None:
    """Flow 1 of the seed."""
    accepted = await house.ask(101, "he")
    await house.harness.advance(timedelta(minutes=2))
    job = await house.job(accepted.job.id)

    assert (accepted.job.state, job.state) == ("download_queued", "done")
    assert await house.told(job.id) == FOUND
    assert house.written(101) == ["The.Ninth.Lighthouse.2021.1080p.BluRay.x264-HARBOUR.he.srt"]
    assert (job.data.source, job.data.machine_translated) == ("opensubtitles", False)


async def test_what_is_not_found_is_translated_cue_by_cue(house: House) -> None:
    """Flow 2 of the seed: English is there, Hebrew is not; no cue is lost, merged or moved."""
    accepted = await house.ask(103, "he")
    await house.harness.advance(timedelta(minutes=2))
    job = await house.job(accepted.job.id)
    name = "A.Map.of.Winter.2022.2160p.BluRay.x265-NORTH"
    source, target = (cues_of(house, 103, f"{name}.{language}.srt") for language in ("en", "he"))

    assert job.state == "done"
    assert await house.told(job.id) == TRANSLATED
    assert job.data.machine_translated
    assert [(cue.start, cue.end) for cue in target] == [(cue.start, cue.end) for cue in source]
    assert sum("א" <= letter <= "ת" for cue in target for letter in cue.text) > 1_000


class Away:
    """A provider that does not answer."""

    name = "away"

    async def search(self, media: Media, wanted: Wanted) -> tuple[Candidate, ...]:
        raise ServiceUnavailable("it is being repaired")

    async def fetch(self, candidate: Candidate) -> Body:
        raise AssertionError("it has offered nothing")

    async def standing(self) -> Standing:
        return Standing(provider=self.name, available=False)


async def test_a_provider_that_is_away_holds_nobody_up_and_is_told(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """Another one has it; but who looks into the log has to see why the first was not heard."""
    providers = {"away": Away(), **house.ports.providers}
    object.__setattr__(house.ports, "providers", providers)
    found = await house.ask(101, "he")
    missing = await house.ask(110, "he")
    await house.harness.advance(timedelta(hours=1))

    assert (await house.job(found.job.id)).state == "done"
    assert (await house.job(missing.job.id)).data.error_type == "service_unavailable"
    assert "provider.away" in caplog.messages


async def test_what_is_nowhere_is_said_to_be_missing(house: House) -> None:
    """No download is spent on it, and somebody looks again in six hours."""
    accepted = await house.ask(110, "he")
    await house.harness.advance(timedelta(minutes=2))
    job = await house.job(accepted.job.id)

    assert (job.state, job.data.reason) == ("subtitle_missing", "subtitle_not_found_any_language")
    assert house.provider.count("/download") == 0
    assert job.data.retry_at == job.updated_at + timedelta(hours=6)


async def test_what_fails_is_said_by_the_role_that_failed(house: House) -> None:
    """Flow 3 of the seed: the event carries the message, and the job what is known of it."""
    house.provider.refuses_the_key()
    accepted = await house.ask(101, "he")
    await house.harness.advance(timedelta(minutes=2))
    job = await house.job(accepted.job.id)

    assert (await house.told(job.id))[-1] == ("job.failed", "downloader")
    assert (job.state, job.data.error_type) == ("failed", "access_refused")
    assert job.data.error_message
    assert "stand-in-key" not in job.data.error_message


async def test_a_hundred_requests_at_once_are_one_job_and_one_download(house: House) -> None:
    """A page that is reloaded, a scanner that is impatient: nothing is paid twice."""
    accepted = await asyncio.gather(*(house.ask(101, "he") for _ in range(100)))
    await house.harness.advance(timedelta(minutes=2))

    assert len({item.job.id for item in accepted}) == 1
    assert sum(item.new for item in accepted) == 1
    assert house.provider.count("/download") == 1


async def test_a_failed_job_begins_again_at_once(house: House) -> None:
    """Whoever asks again after a failure wants another attempt, not to be told of the last one for an hour."""
    house.provider.refuses_the_password()
    first = await house.ask(101, "he")
    await house.harness.advance(timedelta(minutes=2))
    second = await house.ask(101, "he")

    assert (second.new, second.job.id, second.job.generation) == (True, first.job.id, 2)
    history = await house.harness.app.job_history("subtitle", first.job.id)
    assert {event.generation for event in history} == {1, 2}


async def test_jobs_without_quota_wait_until_it_is_given_anew(house: House) -> None:
    """Three are left of today's downloads, and ten are wanted: no refusal costs a job, and nobody asks in vain twice."""
    wanted = [101, 102, 103, 105, 108, 111, 201, 202, 203, 205]
    house.provider.has_left(3)
    jobs = [(await house.ask(number, "en")).job.id for number in wanted]
    await house.harness.advance(timedelta(minutes=2))
    states = [(await house.job(id)) for id in jobs]
    parked = [job for job in states if job.state == "download_in_progress"]

    assert sum(job.state == "done" for job in states) == 3
    standing = await house.ports.providers["opensubtitles"].standing()
    assert {job.data.retry_at for job in parked} == {standing.quota_resets_at}
    assert house.provider.count("/download") <= 4
    assert len(await house.harness.events(QUOTA_USED_UP)) == 1

    await house.harness.advance(timedelta(hours=25))
    assert {(await house.job(id)).state for id in jobs} == {"done"}


async def test_a_part_that_fails_for_good_costs_no_other_part(house: House) -> None:
    """What was translated is paid for; the next attempt asks for the rest alone."""
    trouble = house.model.fails(times=None, holding='"id": 150,')
    accepted = await house.ask(103, "he")
    await house.harness.advance(timedelta(hours=2))
    failed = await house.job(accepted.job.id)
    asked_before = len(house.model.questions)
    trouble.lift()
    await house.harness.app.retry_job("subtitle", accepted.job.id)
    await house.harness.advance(timedelta(minutes=2))
    done = await house.job(accepted.job.id)

    assert (failed.state, failed.data.retryable) == ("failed", True)
    assert (done.state, done.generation) == ("done", 2)
    assert len(house.model.questions) - asked_before == 1


async def test_a_human_subtitle_takes_the_place_of_a_machine_made_one(house: House) -> None:
    """Hours or weeks later somebody uploads one; nobody has to ask again."""
    accepted = await house.ask(103, "he")
    await house.harness.advance(timedelta(minutes=2))
    before = await house.job(accepted.job.id)
    house.provider.offers(house.offer(103, "he"))
    await house.harness.advance(timedelta(hours=7))
    after = await house.job(accepted.job.id)

    assert (before.data.machine_translated, before.generation) == (True, 1)
    assert (after.state, after.data.machine_translated, after.generation) == ("done", False, 2)


@pytest.mark.parametrize("point", ["store.before_commit", "store.after_commit", "step.after"])
async def test_a_process_that_dies_loses_and_doubles_nothing(house: House, point: str) -> None:
    """Wherever it dies, the job is done in the end, from one download."""
    house.harness.crash_once(at=point, nth=6)
    accepted = await house.ask(101, "he")
    await house.harness.advance(timedelta(minutes=2))

    assert (await house.job(accepted.job.id)).state == "done"
    assert await house.told(accepted.job.id) == FOUND
    assert house.provider.count("/download") == 1
