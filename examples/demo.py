"""What `make demo` shows: survivor.py runs, is killed and goes on, and its file is examined; then a library gets its subtitles."""

import asyncio
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import library
import survivor

from headrace import Headrace

HERE = Path(__file__).resolve().parent
BRICKS = list(range(1, 9))


def say(text: str = "") -> None:
    print(text, flush=True)


def watch_survivor(folder: str) -> tuple[int, list[str]]:
    """Run the example as a user would, and pass on what it prints."""
    lines = []
    command = [sys.executable, str(HERE / "survivor.py")]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            say(line.rstrip())
            lines.append(line)
    return process.returncode, lines


async def read_history(folder: str) -> tuple[str, list[object]]:
    """The state of the run, and the bricks that its journal holds, in order."""
    async with Headrace([survivor.pipeline], store=Path(folder, "survivor.db")) as app:
        (run,) = await app.runs()
        history = await app.history(run.id)
    for entry in history.entries:
        say(f"  {entry.at:%H:%M:%S.%f}  {entry.kind} {entry.name} {entry.arguments}  {entry.outcome}")
    return run.state, [entry.value for entry in history.entries]


def summary(exit_code: int, lines: list[str], state: str, recorded: list[object]) -> bool:
    """Say what was promised and what was seen; the answer is whether they are the same."""
    begun = Counter(brick for line in lines for brick in BRICKS if f"lays brick {brick} " in line)
    twice = [brick for brick in BRICKS if begun[brick] == 2]
    findings = {
        "a process was killed and a second one finished the run": exit_code == 0,
        "the run has completed": state == "completed",
        "every brick was recorded once, in order": recorded == BRICKS,
        "only the brick under way at the kill was begun again": twice == [5] and begun.total() == len(BRICKS) + 1,
    }
    for promise, held in findings.items():
        say(f"  {'yes' if held else 'NO '}  {promise}")
    return all(findings.values())


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as folder:
        say("A run of eight steps. Its process is killed with SIGKILL during the fifth.\n")
        exit_code, lines = watch_survivor(folder)
        say("\nWhat the file says about it:\n")
        state, recorded = asyncio.run(read_history(folder))
        say("\nWas it as promised?\n")
        held = summary(exit_code, lines, state, recorded)
    say("\nA library of twenty videos that wants Hebrew subtitles. Every outside service is played by its stand-in.\n")
    held = library.main() == 0 and held
    say("\nNow read examples/survivor.py, then docs/tutorial." if held else "\nThis is a defect; please report it.")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
