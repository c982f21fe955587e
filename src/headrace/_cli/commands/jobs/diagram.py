"""``headrace jobs diagram``."""

from __future__ import annotations

import click

from headrace._cli import target
from headrace._cli.screen import Screen, common


@click.command()
@click.argument("lifecycle")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option("--state", metavar="STATE", help="Mark this state.")
@common
def diagram(screen: Screen, lifecycle: str, targets: tuple[str, ...], state: str | None) -> None:
    """Draw a LIFECYCLE of TARGET as SVG.

    With --json, its states and moves. For example: headrace jobs diagram order shop.py > order.svg
    """
    pipelines = target.load(targets)
    from headrace._authoring.pipeline import Registry
    from headrace._jobs.diagram import as_svg_file

    declared = Registry.of(pipelines).catalogue.lifecycle(lifecycle)
    if screen.as_json:
        from headrace._web.schemas import LifecycleView

        screen.give(LifecycleView.of(declared).model_dump())
    else:
        screen.say(as_svg_file(declared, state=state))
