"""The whole platform as its users meet it: real processes, HTTP, the command line, a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DEMO

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.allow_blocking]

FILM = next(video for video in DEMO if video.feature.id == 103)
SETTINGS = {"HEADRACE_SUBTITLES_WANTED": "he", "HEADRACE_SUBTITLES_WATCH": "false", "HEADRACE_LOG__LEVEL": "error"}


@contextmanager
def up(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """`headrace up subtitles --stand-ins` in a folder, until the end of the block."""
    command = [sys.executable, "-m", "headrace", "up", "subtitles", "--stand-ins", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=folder, env=os.environ | SETTINGS, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        with httpx2.Client(base_url=address, timeout=30) as client:
            yield process, client
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def ended(client: httpx2.Client, job: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found: dict[str, Any] = client.get(f"/subtitles/{job}").json()
        if found["status"] in {"done", "failed", "subtitle_missing", "cancelled"}:
            return found
        time.sleep(0.05)
    raise AssertionError(f"job {job} does not end")


def wish(folder: Path, **more: Any) -> dict[str, Any]:
    video = folder / "subtitles-library" / FILM.path
    return {"video_url": video.as_uri(), "video_title": "A Map of Winter", "language": "he", **more}


def test_a_film_is_asked_for_translated_and_fetched(tmp_path: Path) -> None:
    """Flow 2 over HTTP: the answers have the shapes of the original, and the history is complete and newest first."""
    with up(tmp_path) as (_, client):
        asked = client.post("/subtitles/download", json=wish(tmp_path))
        again = client.post("/subtitles/download", json=wish(tmp_path))
        job = ended(client, asked.json()["id"])
        history = client.get(f"/subtitles/{job['id']}/events").json()
        status = client.get(f"/subtitles/status/{job['id']}").json()
        file = client.get(job["download_url"])
        queue = client.get("/queue/status").json()
        metrics = client.get("/metrics").text

    assert (asked.status_code, again.status_code, again.json()["id"]) == (201, 200, job["id"])
    assert (job["status"], job["attempt"], job["progress"], job["machine_translated"]) == ("done", 1, 100, True)
    assert [event["event_type"] for event in history["events"]] == [
        "subtitle.translated",
        "subtitle.translate.started",
        "subtitle.translate.requested",
        "subtitle.download.started",
        "subtitle.download.requested",
    ]
    assert (history["event_count"], [event["seq"] for event in history["events"]]) == (5, [5, 4, 3, 2, 1])
    assert status == {"id": job["id"], "status": "done", "progress": 100, "message": "Status: done"}
    assert file.headers["content-type"] == "application/x-subrip; charset=utf-8"
    assert file.text.count("-->") == 650
    assert queue == {
        "download_queue_size": 0,
        "translation_queue_size": 0,
        "active_workers": {"downloader": 0, "translator": 0},
    }
    assert 'subtitles_translated_total{from="en",model="stand-in",to="he"} 1' in metrics


@pytest.mark.parametrize(
    "body, status, said",
    [
        ({"video_url": "ftp://a/b.mkv"}, 422, "begins with"),
        ({"video_url": "file:///etc/passwd"}, 422, "media folders"),
        ({"video_title": ""}, 422, "at least 1 character"),
        ({"language": "xx-klingon"}, 422, "unknown_language"),
        ({"languages": ["he"]}, 422, "Extra inputs"),
    ],
)
def test_bad_requests_are_refused_with_the_reason(
    server: tuple[Path, httpx2.Client], body: dict[str, Any], status: int, said: str
) -> None:
    """Nothing becomes of them, and nobody sees a stack trace."""
    folder, client = server

    answer = client.post("/subtitles/download", json=wish(folder) | body)

    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, httpx2.Client]]:
    folder = tmp_path_factory.mktemp("subtitles")
    with up(folder) as (_, client):
        yield folder, client


def test_what_is_not_there_is_said_as_the_original_said_it(server: tuple[Path, httpx2.Client]) -> None:
    """Clients that were written for it look for `detail`."""
    _, client = server

    unknown = client.get("/subtitles/00000000-0000-0000-0000-000000000000")
    no_id = client.get("/subtitles/abc/events")

    assert (unknown.status_code, unknown.json()["detail"]) == (404, "Subtitle job not found")
    assert no_id.status_code == 422


def test_older_words_for_statuses_are_understood(server: tuple[Path, httpx2.Client]) -> None:
    """They are read, and never written."""
    _, client = server

    answers = {
        word: client.get("/subtitles", params={"status": word}).status_code for word in ("completed", "done", "x")
    }

    assert answers == {"completed": 200, "done": 200, "x": 422}


async def test_a_hundred_at_once_are_one_job(server: tuple[Path, httpx2.Client]) -> None:
    """One 201, and 200 for all others."""
    folder, client = server
    body = wish(folder, hearing_impaired=True)
    async with httpx2.AsyncClient(base_url=client.base_url, timeout=60) as crowd:
        answers = await asyncio.gather(*(crowd.post("/subtitles/download", json=body) for _ in range(100)))

    assert sorted(answer.status_code for answer in answers) == [200] * 99 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_kill_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    """The next process goes on by itself; nothing is told twice."""
    with up(tmp_path) as (process, client):
        job = client.post("/subtitles/download", json=wish(tmp_path)).json()["id"]
        while client.get(f"/subtitles/{job}").json()["status"] != "translate_in_progress":
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()

    with up(tmp_path) as (_, client):
        found = ended(client, job)
        history = client.get(f"/subtitles/{job}/events").json()

    assert found["status"] == "done"
    assert history["event_count"] == 5
    assert all(event["applied"] for event in history["events"])


def test_the_command_line_does_it_without_a_server(tmp_path: Path) -> None:
    """One command, no process in the background, and the exit status says how it went."""
    environment = os.environ | SETTINGS
    run = [sys.executable, "-m", "headrace", "subtitles"]

    scan = subprocess.run(
        [*run, "scan", "--stand-ins", "--json"],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
    )
    listed = subprocess.run(
        [*run, "status", "--json"], check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
    )

    assert scan.returncode == 0, scan.stderr
    assert json.loads(scan.stdout)["jobs"] == {"done": 15, "subtitle_missing": 5}
    assert len(json.loads(listed.stdout)) == 20
