"""``headrace up``: the engine and its API in one process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace._base.wording import count
from headrace._cli import logbook, target
from headrace._cli.commands.preflight import in_json
from headrace._cli.problem import Problem
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import check_writable, load_settings

if TYPE_CHECKING:
    from headrace._app.app import Headrace
    from headrace._authoring.pipeline import Pipeline
    from headrace._bridge.model import BridgeView
    from headrace.settings import LoadedSettings

_STOPPING = (signal.SIGINT, signal.SIGTERM)


@click.command()
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option(
    "--store", metavar="STORE", help="The file that holds all runs, made if it is not there; or a postgresql:// URL."
)
@click.option(
    "--host", metavar="ADDRESS", help="The address to answer at; others are let in only when there is a token."
)
@click.option("--port", metavar="PORT", help="The port to answer at; 0 takes any free one.")
@click.option(
    "--stand-ins", is_flag=True, help="Let every outside service be played by its stand-in; no keys are needed."
)
@common
def up(
    screen: Screen, targets: tuple[str, ...], store: str | None, host: str | None, port: str | None, stand_ins: bool
) -> None:
    """Run pipelines until stopped, and answer for them.

    TARGET is package.module, package.module:pipeline, or path/to/file.py; without a name, all pipelines in it are run.

    Ctrl+C or SIGTERM lets steps under way end first (HEADRACE_LIMITS__DRAIN); a second one leaves at once.
    Either way nothing is lost: all runs go on at the next start.
    """
    pipelines = target.load(targets)
    models = {pipeline.name: pipeline.settings for pipeline in pipelines if pipeline.settings is not None}
    loaded = load_settings(models, store__path=store, server__host=host, server__port=port)
    settings = loaded.settings
    logbook.configure(level=settings.log.level, form=settings.log.format)
    check_writable(settings.store.location)
    from headrace._app.wiring import build
    from headrace._web.admission import check_token_exists, others_may_come

    app = build(pipelines, settings, of_pipelines=loaded.pipelines, stand_ins=stand_ins)
    if others_may_come(settings.server):
        app.require(check_token_exists)
    asyncio.run(_run(screen, app, loaded))


async def _run(screen: Screen, app: Headrace, loaded: LoadedSettings) -> None:
    from headrace._web.admission import admission
    from headrace._web.server import bind, serve

    settings = loaded.settings
    stop = asyncio.Event()
    leftovers: list[Path] = []
    _on_signals(stop, screen, app, leftovers)
    with bind(settings.server.host, settings.server.port) as listening:
        async with app:
            async with serve(app, listening, loaded) as (address, token_file):
                leftovers.append(token_file)
                _announce(screen, app, address, needs_token=admission(loaded.settings.server).needs_token)
                await _first(stop.wait(), app.engine.failed)
            if app.failure is None and app.engine.steps_under_way and not screen.as_json:
                screen.note(f"Letting {count(app.engine.steps_under_way, 'step')} end; once more to leave at once.")
            failure = app.failure
    if failure is not None:
        raise Problem(
            f"stopped, because the store failed: {failure}", code="store_failed", hint="see `headrace doctor`"
        )


def _on_signals(stop: asyncio.Event, screen: Screen, app: Headrace, leftovers: Sequence[Path]) -> None:
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        if stop.is_set():
            for file in leftovers:
                file.unlink(missing_ok=True)
            sys.stdout.flush()
            # As a killed process would: whatever is not recorded is done again at the next start.
            os._exit(128 + number)
        stop.set()

    for number in _STOPPING:
        loop.add_signal_handler(number, _call(asked, number))


def _call(function: Callable[[int], None], number: int) -> Callable[[], None]:
    return lambda: function(number)


async def _first(asked: object, failed: asyncio.Future[None]) -> None:
    waiting = asyncio.ensure_future(asked)  # type: ignore[call-overload]
    await asyncio.wait((waiting, failed), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def _announce(screen: Screen, app: Headrace, address: str, *, needs_token: bool) -> None:
    runs = dict(app.counts(only_open=True))
    flows = {pipeline.name: [flow.name for flow in pipeline.flows] for pipeline in app.pipelines}
    fit = app.fit
    if screen.as_json:
        found = None if fit is None else in_json(fit)
        screen.give(
            {"event": "up", "address": address, "pid": os.getpid(), "store": str(app.location), "flows": flows, "subscriptions": _subscriptions(app), "webhooks": _webhooks(app), "bridges": {bridge.name: bridge.state for bridge in app.bridges}, "runs": runs, "preflight": found, "stand_ins": app.stand_ins,
             "needs_token": needs_token},
            on_one_line=True,
        )  # fmt: skip
        return
    access = "to whoever has a token (`headrace tokens new NAME` makes one)" if needs_token else "to this machine"
    pairs = [
        ("Headrace", f"process {os.getpid()}"),
        ("Dashboard", address),
        ("Open", access),
        ("Store", str(app.location)),
    ]
    pairs += [("Pipeline", _pipeline_in_words(pipeline)) for pipeline in app.pipelines]
    pairs += [("Bridge", _bridge_in_words(app, bridge)) for bridge in app.bridges]
    total = sum(runs.values())
    states = ", ".join(f"{many} {state}" for state, many in runs.items())
    pairs.append(("Taken up", count(total, "open run") + (f" ({states})" if runs else "")))
    pairs.append(("Preflight", _fit_in_words(app)))
    if app.stand_ins:
        pairs.append(("Stand-ins", "every outside service is played by its stand-in; nothing here is real"))
    screen.facts(pairs)
    screen.say("Ctrl+C stops it; runs go on at the next start.")


def _subscriptions(app: Headrace) -> dict[str, dict[str, list[str]]]:
    """Topics by the name of the subscription, by pipeline."""
    return {
        pipeline.name: {f"{pipeline.name}.{trigger.name}": list(trigger.patterns) for trigger in pipeline.triggers}
        for pipeline in app.pipelines
    }


def _webhooks(app: Headrace) -> dict[str, list[str]]:
    """Where webhooks of others come in, by pipeline."""
    return {
        pipeline.name: [f"/webhooks/{pipeline.name}.{hook.name}" for hook in pipeline.webhooks]
        for pipeline in app.pipelines
    }


def _pipeline_in_words(pipeline: Pipeline) -> str:
    flows = ", ".join(flow.name for flow in pipeline.flows) or "no flows"
    reads = [f"{pipeline.name}.{trigger.name} reads {', '.join(trigger.patterns)}" for trigger in pipeline.triggers]
    takes = [
        f"{pipeline.name}.{hook.name} takes POST /webhooks/{pipeline.name}.{hook.name}" for hook in pipeline.webhooks
    ]
    return "\n".join([f"{pipeline.name}: {flows}", *reads, *takes])


def _bridge_in_words(app: Headrace, bridge: BridgeView) -> str:
    if bridge.state == "off":
        why = "because stand-ins play the outside" if app.stand_ins else "set HEADRACE_RABBITMQ__URL to turn it on"
        return f"{bridge.name} is off; {why}"
    reads = f", reads {', '.join(feed.queue for feed in bridge.feeds)}" if bridge.feeds else ""
    return f"{bridge.name} to exchange {bridge.exchange} at {bridge.broker}{reads}"


def _fit_in_words(app: Headrace) -> str:
    fit = app.fit
    if fit is None:
        return "off"
    if not fit.checked and not fit.skipped:
        return ""
    skipped = f"; {fit.skipped} not looked at for lack of time (`headrace preflight` does)" if fit.skipped else ""
    if not fit.problems:
        verb = "fits" if fit.checked == 1 else "fit"
        return f"{count(fit.checked, 'open run')} {verb} this code{skipped}"
    lines = [f"{item.run_id}: {item.reason}" for item in fit.problems[:5]]
    more = [f"and {len(fit.problems) - 5} more"] if len(fit.problems) > 5 else []
    head = f"{len(fit.problems)} of {fit.checked} open runs do not fit this code and are blocked{skipped}"
    return "\n".join([head, *lines, *more])
