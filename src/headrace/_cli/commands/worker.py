"""``headrace worker``: handles events beside the owner of a store."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from headrace._base.wording import count
from headrace._cli import logbook, target
from headrace._cli.problem import Problem
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import load_settings

if TYPE_CHECKING:
    from headrace._app.worker import Worker
    from headrace.settings import LoadedSettings

_ALL = "*"
_STOPPING = (signal.SIGINT, signal.SIGTERM)


@click.command()
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option("--store", metavar="URL", help="The postgresql:// URL of the store.")
@click.option(
    "--subscriptions",
    metavar="[NAME,...]",
    is_flag=False,
    flag_value=_ALL,
    default=_ALL,
    help="Work for these subscriptions only; without names, as without the option, for all of TARGET.",
)
@click.option("--stand-ins", is_flag=True, help="Let every outside service be played by its stand-in.")
@common
def worker(screen: Screen, targets: tuple[str, ...], store: str | None, subscriptions: str, stand_ins: bool) -> None:
    """Handle events beside the owner of a store in Postgres, in any number of processes.

    TARGET is package.module, package.module:pipeline, or path/to/file.py. The parts of its subscriptions are shared among all
    processes that work for them, `headrace up` included (unless HEADRACE_SUBSCRIPTIONS=workers). When one dies, others go on with
    what it had, after HEADRACE_LIMITS__LEASE. Runs that events start are run by the owner.

    Ctrl+C or SIGTERM lets handlers under way end first (HEADRACE_LIMITS__DRAIN), and others go on at once.
    """
    pipelines = target.load(targets)
    models = {pipeline.name: pipeline.settings for pipeline in pipelines if pipeline.settings is not None}
    loaded = load_settings(models, store__path=store)
    logbook.configure(level=loaded.settings.log.level, form=loaded.settings.log.format)
    from headrace._app.wiring import build_worker

    names = None if subscriptions == _ALL else [name.strip() for name in subscriptions.split(",") if name.strip()]
    made = build_worker(
        pipelines, loaded.settings, subscriptions=names, of_pipelines=loaded.pipelines, stand_ins=stand_ins
    )
    asyncio.run(_run(screen, made, loaded))


async def _run(screen: Screen, worker: Worker, loaded: LoadedSettings) -> None:
    stop = asyncio.Event()
    _on_signals(stop)
    async with worker:
        _announce(screen, worker)
        waiting = asyncio.ensure_future(stop.wait())
        await asyncio.wait((waiting, worker.engine.failed), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if worker.engine.under_way and not screen.as_json:
            screen.note(f"Letting {count(worker.engine.under_way, 'handler')} end; once more to leave at once.")
    failure = worker.engine.failure
    if failure is not None:
        raise Problem(
            f"stopped, because the store failed: {failure}", code="store_failed", hint="see `headrace doctor`"
        )


def _on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        if stop.is_set():
            sys.stdout.flush()
            # As a killed process would: what is not recorded is done again, here or elsewhere.
            os._exit(128 + number)
        stop.set()

    for number in _STOPPING:
        loop.add_signal_handler(number, _call(asked, number))


def _call(function: Callable[[int], None], number: int) -> Callable[[], None]:
    return lambda: function(number)


def _announce(screen: Screen, worker: Worker) -> None:
    if screen.as_json:
        screen.give(
            {"event": "worker", "name": worker.name, "pid": os.getpid(), "store": str(worker.location), "subscriptions": dict(worker.subscriptions)},
            on_one_line=True,
        )  # fmt: skip
        return
    shared = ", ".join(f"{name} ({count(parts, 'part')})" for name, parts in worker.subscriptions.items())
    screen.facts([("Worker", f"process {os.getpid()}"), ("Store", str(worker.location)), ("Subscriptions", shared)])
    screen.say("Ctrl+C stops it; other processes go on with what it had.")
