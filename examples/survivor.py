"""A run whose process is killed in the middle, and that goes on: `python examples/survivor.py`."""

import asyncio
import os
import signal
import subprocess
import sys

from headrace import Headrace, Pipeline, flow, sleep, step


@step
async def lay_brick(number: int) -> int:
    print(f"  process {os.getpid()} lays brick {number} with the key {step.key}", flush=True)
    await sleep(0.2)  # the work
    return number


@flow(id="wall-{name}")
async def build_wall(name: str, bricks: int) -> int:
    height = 0
    for number in range(1, bricks + 1):
        await lay_brick(number)
        height += 1
    return height


pipeline = Pipeline("survivor", flows=[build_wall])


async def work(name: str) -> None:
    async with Headrace([pipeline], store="survivor.db") as app:
        run = await app.start(build_wall, name, 8)  # the first process begins the run, the second one joins it
        print(f"{run.id} is {await run.result()} bricks high")


def watch(name: str, kill_at: str = "") -> int:
    """Run `work` in a process of its own; kill it with SIGKILL as soon as it says `kill_at`."""
    command = [sys.executable, __file__, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if kill_at and kill_at in line:
                process.send_signal(signal.SIGKILL)
                print(f"  process {process.pid} is killed while it lays that brick", flush=True)
    return process.returncode


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(work(sys.argv[1]))
    else:
        me = str(os.getpid())
        killed = watch(me, kill_at="brick 5 ")
        finished = watch(me)
        sys.exit(0 if (killed, finished) == (-signal.SIGKILL, 0) else "the two processes did not end as they should")
