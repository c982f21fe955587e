from __future__ import annotations

from datetime import timedelta

from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.store import Asked, Store

from .conftest import House


async def test_who_waits_for_what_is_known_without_asking_jobs(house: House) -> None:
    """From the request to the end, through another attempt, and whatever is delivered twice."""
    order = house.order(101, "he")
    store = Store(house.harness.app.tables)
    job = (await house.ask(101, "he")).job
    await house.harness.advance(timedelta(minutes=2))
    done = store.asked_for(order.video_url)
    await house.harness.publish("subtitle.ready", None, subject="another")  # of no job of ours

    await house.harness.app.retry_job("subtitle", job.id)
    await house.harness.app.cancel_job("subtitle", job.id)
    await house.harness.advance(timedelta(minutes=2))

    assert done == [Asked(job=job.id, wanted=Wanted(language="he"), is_open=False)]
    assert [one.is_open for one in store.asked_for(order.video_url)] == [False]


async def test_what_waits_for_quota_is_being_worked_on(house: House) -> None:
    """The library must not call it missing, or somebody asks again."""
    house.provider.has_left(0)
    order = house.order(101, "he")
    await house.ask(101, "he")
    await house.harness.advance(timedelta(minutes=2))

    assert [one.is_open for one in Store(house.harness.app.tables).asked_for(order.video_url)] == [True]
