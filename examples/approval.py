"""Checks side by side, then waiting for a person, with a reminder and a limit: `python examples/approval.py`."""

import asyncio
import os
from dataclasses import dataclass

from headrace import Headrace, Pipeline, flow, receive, step


@dataclass(frozen=True)
class Decision:
    by: str
    approved: bool


@step
async def check(rule: str, text: str) -> bool:
    print(f"  check {rule}")
    return bool(text)


@step
async def tell(person: str, what: str) -> None:
    print(f"  to {person}: {what}")


@flow(id="article-{title}")
async def publish(title: str, text: str) -> str:
    async with asyncio.TaskGroup() as group:  # plain asyncio: it means after a crash what it meant before
        checks = [group.create_task(check(rule, text)) for rule in ("spelling", "links", "facts")]
    if not all(task.result() for task in checks):
        return "refused by the checks"
    await tell("editor", f"may {title!r} be published?")
    for _ in range(3):
        try:
            async with asyncio.timeout(1):  # a durable timer: days would cost the same
                decision = await receive("decision", Decision)
                return f"{'published' if decision.approved else 'refused'} by {decision.by}"
        except TimeoutError:
            await tell("editor", f"{title!r} still waits for you")
    return "forgotten"


pipeline = Pipeline("approval", flows=[publish])


async def main() -> None:
    async with Headrace([pipeline], store="approval.db") as app:
        run = await app.start(publish, f"rivers-{os.getpid()}", "All rivers run to the sea.")
        await asyncio.sleep(1.2)
    print("  the runtime is closed; the run is a row in approval.db")
    async with Headrace([pipeline], store="approval.db") as app:
        run = app.handle(run.id)
        await run.send("decision", Decision(by="Ada", approved=True))
        print(f"{run.id}: {await run.result()}")


if __name__ == "__main__":
    asyncio.run(main())
