"""A small library is completed: `headrace up subtitles --stand-ins` finds Hebrew subtitles for twenty invented videos, or translates them.

The server runs as a user's would; this program asks it over HTTP, says what happens, and compares the end with what was promised.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

LANGUAGE = "he"
ENDED = {"done", "failed", "subtitle_missing", "cancelled"}
SECONDS = 120


def say(text: str = "") -> None:
    print(text, flush=True)


def start(folder: str) -> tuple[subprocess.Popen[str], str]:
    """The server in a folder of its own, and where it answers."""
    command = [sys.executable, "-m", "headrace", "up", "subtitles", "--stand-ins", "--port", "0", "--json"]
    settings = {"HEADRACE_SUBTITLES_WANTED": LANGUAGE, "HEADRACE_LOG__LEVEL": "error", "PYTHONWARNINGS": ""}
    process = subprocess.Popen(command, cwd=folder, env=os.environ | settings, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        sys.exit("headrace up did not start; run it by hand to see why")
    return process, str(json.loads(line)["address"])


def ask(address: str, path: str) -> Any:
    with urllib.request.urlopen(address + path, timeout=10) as answer:
        return json.load(answer)


def follow(address: str) -> list[dict[str, Any]]:
    """Say what changes until every job has ended."""
    told: dict[str, str] = {}
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        jobs = ask(address, "/subtitles?limit=500")
        for job in jobs:
            news = f"{job['status']:<22} {job['source'] or ''}".rstrip()
            if told.get(job["id"]) != news:
                told[job["id"]] = news
                say(f"  {job['video_title']:<24} {news}")
        if len(jobs) >= 20 and all(job["status"] in ENDED for job in jobs):
            return list(jobs)
        time.sleep(0.2)
    sys.exit(f"not all jobs had ended after {SECONDS} s")


def summary(address: str, jobs: list[dict[str, Any]]) -> bool:
    """Say what was promised and what was seen; the answer is whether they are the same."""
    done = [job for job in jobs if job["status"] == "done"]
    counts = Counter(job["status"] for job in jobs)
    machine = sum(job["machine_translated"] for job in done)
    say(f"\n{len(done) - machine} found, {machine} translated, {counts['subtitle_missing']} not to be had.\n")
    histories = [ask(address, f"/subtitles/{job['id']}/events") for job in jobs]
    findings = {
        "every video has a job that has ended": len(jobs) == 20 and counts["failed"] == 0,
        "every job that is done has its file": all(Path(job["subtitle_path"]).is_file() for job in done),
        "some were found, some translated": 0 < machine < len(done),
        "every history is complete, in order, and ends as its job does": all(map(_is_whole, histories, jobs)),
    }
    for promise, held in findings.items():
        say(f"  {'yes' if held else 'NO '}  {promise}")
    return all(findings.values())


def _is_whole(history: dict[str, Any], job: dict[str, Any]) -> bool:
    newest = {"done": {"subtitle.ready", "subtitle.translated"}, "subtitle_missing": {"subtitle.missing"}}
    numbers = [event["seq"] for event in history["events"]]
    is_in_order = numbers == list(range(history["event_count"], 0, -1))
    return is_in_order and history["events"][0]["event_type"] in newest[job["status"]]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="headrace-library-") as folder:
        process, address = start(folder)
        try:
            say(f"headrace up subtitles --stand-ins answers at {address}\n")
            held = summary(address, follow(address))
            if held and sys.stdout.isatty() and sys.stdin.isatty():
                input(f"\nLook at it: {address}/p/subtitles/  (Enter ends the demonstration) ")
        finally:
            process.terminate()
            process.communicate()
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
