"""What commands of pipelines are made of: click groups named in the entry points ``headrace.commands``.

``common`` gives a command ``--json``, ``--debug`` and a ``Screen``; ``store_option`` gives it the store; ``connect`` the pipeline's routes;
``Problem`` ends it with what happened, why, and what to do next.
"""

from headrace._cli.pipeline_client import PipelineClient, connect
from headrace._cli.problem import NOTHING, PARTIAL, Problem, WrongUse
from headrace._cli.screen import Screen, common, printable
from headrace._cli.store_file import store_option

__all__ = [
    "NOTHING",
    "PARTIAL",
    "PipelineClient",
    "Problem",
    "Screen",
    "WrongUse",
    "common",
    "connect",
    "printable",
    "store_option",
]
