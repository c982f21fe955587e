"""What is asked of the owner: ``retry`` and ``cancel``."""

from __future__ import annotations

import click

from headrace._cli.owner import OwnerClient
from headrace._cli.problem import Problem
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import store_option
from headrace._store.location import Location


@click.command()
@click.argument("lifecycle")
@click.argument("job_id", metavar="ID")
@store_option
@common
def retry(screen: Screen, lifecycle: str, job_id: str, store: Location) -> None:
    """Begin a job that has ended once more, in a new generation.

    What still comes from the old generation is kept in the history and does not touch the new one.
    """
    published = OwnerClient.find(store).post("jobs", lifecycle, job_id, "retry")
    if not published["applied"]:
        raise Problem(f"job {job_id!r} was not begun again: {published['reason']}", code="conflict")
    if screen.as_json:
        screen.give(published)
    else:
        screen.say(printable(f"{lifecycle}/{job_id} begins again, in generation {published['generation']}"))


@click.command()
@click.argument("lifecycle")
@click.argument("job_id", metavar="ID")
@store_option
@common
def cancel(screen: Screen, lifecycle: str, job_id: str, store: Location) -> None:
    """Cancel a job and the run that works for it.

    The run may clean up first; its end is the end of the job.
    """
    detail = OwnerClient.find(store).post("jobs", lifecycle, job_id, "cancel")
    if screen.as_json:
        screen.give(detail)
    else:
        job = detail["job"]
        more = "" if job["terminal"] else "; the run that works for it has been asked to stop"
        screen.say(printable(f"{lifecycle}/{job_id} is {job['state']}{more}"))
