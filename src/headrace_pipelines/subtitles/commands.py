"""``headrace subtitles``: the manager at the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from headrace.cli import NOTHING, PARTIAL, PipelineClient, Problem, Screen, common, connect, printable, store_option
from headrace_pipelines.subtitles.model import Status

T = TypeVar("T")
_ENDED = {Status.DONE, Status.FAILED, Status.SUBTITLE_MISSING, Status.CANCELLED}
_PAUSE = 0.3
_stand_ins = click.option("--stand-ins", is_flag=True, help="Let every outside service be played by its stand-in.")
_wait = click.option("--wait/--no-wait", default=True, help="Wait until it is done; the default.")


@click.group()
def commands() -> None:
    """Subtitles: find them, translate them, scan the library.

    They ask the process that runs the store (`headrace up subtitles`); without one the command does the work itself.
    """


def _ask(store: Any, stand_ins: bool, question: Callable[[PipelineClient], Awaitable[T]]) -> T:
    from headrace_pipelines.subtitles import pipeline

    async def ask() -> T:
        async with connect(pipeline, store, stand_ins=stand_ins) as client:
            return await question(client)

    return asyncio.run(ask())


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--language", "-l", required=True, help="The language that is wanted: he, pt-BR, heb, …")
@click.option("--from", "fallback", multiple=True, help="What to translate from; may be given several times.")
@click.option("--title", help="The title of the video; by default what its name says.")
@click.option("--forced", is_flag=True, help="Only what is said in other languages.")
@click.option("--hearing-impaired", is_flag=True, help="With what is heard besides words.")
@click.option("--no-translation", is_flag=True, help="Do not translate if nothing is found.")
@_wait
@_stand_ins
@store_option
@common
def get(
    screen: Screen, file: Path, language: str, fallback: tuple[str, ...], title: str | None, forced: bool,
    hearing_impaired: bool, no_translation: bool, wait: bool, stand_ins: bool, store: Any,
) -> None:  # fmt: skip
    """Get the subtitle of a video FILE, or of one at an http(s):// URL."""
    body: dict[str, Any] = {
        "video_url": _url(str(file)), "video_title": title or file.stem, "language": language, "forced": forced,
        "hearing_impaired": hearing_impaired,
    }  # fmt: skip
    if fallback:
        body["fallback_languages"] = list(fallback)
    if no_translation:
        body["translate"] = False
    _carry_out(screen, store, stand_ins, "/subtitles/download", body, wait=wait)


def _url(text: str) -> str:
    # click has made one slash of two.
    for scheme in ("https:/", "http:/"):
        if text.startswith(scheme):
            return f"{scheme}/{text.removeprefix(scheme).lstrip('/')}"
    return Path(text).absolute().as_uri()


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--from", "source", required=True, help="The language that it is in.")
@click.option("--to", "target", required=True, help="The language that is wanted.")
@_wait
@_stand_ins
@store_option
@common
def translate(screen: Screen, file: Path, source: str, target: str, wait: bool, stand_ins: bool, store: Any) -> None:
    """Translate a subtitle FILE; the result lies beside it."""
    body = {"subtitle_path": str(file.absolute()), "source_language": source, "target_language": target}
    _carry_out(screen, store, stand_ins, "/subtitles/translate", body, wait=wait)


def _carry_out(screen: Screen, store: Any, stand_ins: bool, path: str, body: dict[str, Any], *, wait: bool) -> None:
    async def question(client: PipelineClient) -> dict[str, Any]:
        job: dict[str, Any] = await client.post(path, body)
        return await _ended(client, screen, job) if wait or client.here else job

    job = _ask(store, stand_ins, question)
    if screen.as_json:
        screen.give(job)
    else:
        _show(screen, job)
    if job["status"] in {Status.FAILED, Status.SUBTITLE_MISSING, Status.CANCELLED}:
        raise click.exceptions.Exit(NOTHING)


async def _ended(client: PipelineClient, screen: Screen, job: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end, and tell on the way when something changes."""
    told = ""
    while job["status"] not in _ENDED:
        status = await client.get(f"/subtitles/status/{job['id']}")
        line = f"{status['progress']:3} %  {status['message'].removeprefix('Status: ')}"
        if line != told and not screen.as_json:
            screen.note(line)
            told = line
        if job["retry_at"] is not None:
            return job  # it goes on by itself when the service wants it to
        await asyncio.sleep(_PAUSE)  # noqa: TID251 - a command that looks from outside has no other clock
        job = await client.get(f"/subtitles/{job['id']}")
    return job


def _show(screen: Screen, job: dict[str, Any]) -> None:
    screen.facts(
        [
            ("Job", job["id"]),
            ("Title", job["video_title"]),
            ("Status", job["status"]),
            ("File", job["subtitle_path"] or ""),
            ("From", _origin(job)),
            ("Waits", f"until {job['retry_at']}" if job["retry_at"] else ""),
            ("Reason", job["reason"] or ""),
            ("Error", job["error_message"] or ""),
            ("Warnings", "\n".join(job["warnings"])),
        ]
    )


def _origin(job: dict[str, Any]) -> str:
    return f"{job['source'] or ''}{' (translated by a machine)' if job['machine_translated'] else ''}"


@commands.command()
@_stand_ins
@store_option
@common
def scan(screen: Screen, stand_ins: bool, store: Any) -> None:
    """Look through the media folders, and ask for every subtitle that is missing."""

    async def question(client: PipelineClient) -> dict[str, Any]:
        run = await client.post("/scan")
        scanned = await _result(client, run["run_id"])
        if client.here:
            scanned["jobs"] = await _all_ended(client, screen)
        return scanned

    found = _ask(store, stand_ins, question)
    if screen.as_json:
        screen.give(found)
    else:
        pairs = [
            (name.capitalize(), str(found[name])) for name in ("videos", "new", "changed", "moved", "gone", "asked")
        ]
        states = ", ".join(f"{number} {state}" for state, number in found.get("jobs", {}).items())
        screen.facts([*pairs, ("Jobs", states), ("Unreadable", "\n".join(found["unreadable"]))])
    if found["unreadable"]:
        raise click.exceptions.Exit(PARTIAL)


async def _result(client: PipelineClient, run_id: str) -> dict[str, Any]:
    while True:
        run = await client.get(f"/api/runs/{run_id}")
        if run["run"]["finished_at"] is not None:
            break
        await asyncio.sleep(_PAUSE)  # noqa: TID251 - as above
    if run["error"] is not None:
        raise Problem(f"the scan failed: {run['error']['message']}", code="scan_failed")
    result: dict[str, Any] = run["result"]
    return result


async def _all_ended(client: PipelineClient, screen: Screen) -> dict[str, int]:
    """This process does the work, so it stays until nothing goes on but what waits for a service."""
    told = ""
    while True:
        jobs = [job for status in Status for job in await client.get("/subtitles", status=status, limit=500)]
        counts = {status.value: sum(job["status"] == status for job in jobs) for status in Status}
        line = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
        if line != told and not screen.as_json:
            screen.note(line)
            told = line
        if not [job for job in jobs if job["status"] not in _ENDED and job["retry_at"] is None]:
            return {state: number for state, number in counts.items() if number}
        await asyncio.sleep(_PAUSE)  # noqa: TID251 - as above


@commands.command()
@click.argument("job_id", metavar="[ID]", required=False)
@click.option("--status", "wanted", help="Only jobs with this status.")
@click.option("--language", help="Only jobs for this language.")
@store_option
@common
def status(screen: Screen, job_id: str | None, wanted: str | None, language: str | None, store: Any) -> None:
    """Show jobs, the one that moved last first; or all about the job ID."""
    if job_id is not None:
        job = _ask(store, False, lambda client: client.get(f"/subtitles/{job_id}"))
        screen.give(job) if screen.as_json else _show(screen, job)
        return
    jobs = _ask(store, False, lambda client: client.get("/subtitles", status=wanted, language=language))
    if screen.as_json:
        screen.give(jobs)
        return
    rows = [
        [
            job["status"],
            f"{job['progress']} %",
            job["target_language"] or job["language"],
            job["video_title"],
            job["id"],
        ]
        for job in jobs
    ]
    screen.table(["STATUS", "DONE", "LANGUAGE", "TITLE", "ID"], rows, state=0)


@commands.command()
@click.argument("job_id", metavar="ID")
@store_option
@common
def events(screen: Screen, job_id: str, store: Any) -> None:
    """Show what happened to the job ID, the newest first."""
    history = _ask(store, False, lambda client: client.get(f"/subtitles/{job_id}/events", limit=500))
    if screen.as_json:
        screen.give(history)
        return
    rows = [
        [str(event["seq"]), event["timestamp"], event["event_type"], event["source"], "yes" if event["applied"] else event["reason"]]
        for event in history["events"]
    ]  # fmt: skip
    screen.table(["SEQ", "TIME", "EVENT", "SOURCE", "APPLIED"], rows)


@commands.command()
@_stand_ins
@store_option
@common
def providers(screen: Screen, stand_ins: bool, store: Any) -> None:
    """Show how things stand with the providers: quotas, and until when they want to be left alone."""
    found = _ask(store, stand_ins, lambda client: client.get("/providers"))
    if screen.as_json:
        screen.give(found)
        return
    rows = [
        [
            "ok" if one["available"] else "fail", one["provider"], _quota(one), one["quota_resets_at"] or "",
            printable(one["reason"]),
        ]
        for one in found
    ]  # fmt: skip
    screen.table(["STATE", "PROVIDER", "DOWNLOADS LEFT", "GIVEN ANEW", "WHY"], rows, state=0)
    if not found:
        raise Problem(
            "no provider is set up, so nothing can be found", code="no_provider",
            hint="set HEADRACE_SUBTITLES_OPENSUBTITLES_KEY or HEADRACE_SUBTITLES_FOLDER",
        )  # fmt: skip


def _quota(standing: dict[str, Any]) -> str:
    if standing["quota_remaining"] is None:
        return "not known yet"
    return f"{standing['quota_remaining']} of {standing['quota_allowed']}"
