"""A house with bells and doors: what the pages about events are tested with."""

from __future__ import annotations

from typing import Any

from headrace import Event, EventType, Lifecycle, Pipeline, Retry, flow, on, publish, receive

doors: Lifecycle[Any] = Lifecycle(
    "door",
    moves=[
        ("door.opened", None, "open"),
        ("door.pushed", "open", "moving"),
        ("door.closed", "moving", "shut"),
        ("door.stuck", "*", "stuck"),
        ("door.left", "*", "left"),
    ],
    terminal=["shut", "stuck", "left"],
    retry=("door.again", "open"),
    ends={"completed": "door.closed", "failed": "door.stuck", "cancelled": "door.left"},
)
gates: Lifecycle[Any] = Lifecycle(
    "gate", moves=[("gate.opened", None, "open"), ("gate.shut", "open", "shut")], terminal=["shut"]
)


async def listen(event: Event[Any]) -> None:
    if event.subject.startswith("bad"):
        raise OSError(f"no answer from {event.subject}")


@flow(id="close-{door}")
async def close(door: str) -> None:
    await publish("door.pushed", subject=doors.job(door))
    await receive("wind", str)


PIPELINE = Pipeline(
    "house",
    flows=[close],
    lifecycles=[doors, gates],
    events=[EventType("bell.rung", dict[str, int])],
    triggers=[
        on(("door.opened", "door.again"), close, name="closers", args=lambda event: (event.subject,), job=doors),
        on("bell.#", listen, name="once", retry=Retry(attempts=1)),
        on("bell.#", listen, name="patient", retry=Retry(attempts=None, first=600)),
    ],
)
