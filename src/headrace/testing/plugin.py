"""The pytest plugin: fixtures for harnesses, and what a failed test needs to be repeated.

In a ``conftest.py``::

    @pytest.fixture
    def headrace_pipelines():
        return goals.pipeline  # or a tuple of pipelines and flows


    @pytest.fixture
    def headrace_ports(local):
        return local.ports  # optional: what steps get from use(...)

Then ``async def test_x(harness: Harness)`` has them running; ``new_harness`` makes one with arguments of the test's own.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:  # another plugin, such as anyio's, runs async tests and fixtures
    async_fixture = pytest.fixture  # type: ignore[assignment]  # called the same way here

if TYPE_CHECKING:
    from headrace.testing.harness import Harness

    NewHarness = Callable[..., Awaitable[Harness]]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("headrace")
    group.addoption(
        "--headrace-seed", type=int, default=0, metavar="N", help="seed of everything that a Harness leaves to chance"
    )
    group.addoption(
        "--headrace-store",
        default=None,
        metavar="URL",
        help="a Postgres database, in which each Harness that names no store gets a schema of its own",
    )


@pytest.fixture
def headrace_pipelines() -> object:
    """What ``harness`` runs: override it with a pipeline, a flow, or a tuple of them."""
    raise pytest.UsageError(
        "the fixture 'harness' does not know what to run; define a fixture headrace_pipelines that returns "
        "your pipeline, or ask for new_harness and call: await new_harness(pipeline)"
    )


@pytest.fixture
def headrace_ports() -> object:
    """What takes the place of the pipelines' wiring in ``harness``; None: they are wired as they are."""
    return None


@async_fixture
async def new_harness() -> AsyncIterator[NewHarness]:
    """Makes harnesses for one test: ``harness = await new_harness(pipeline, ports=...)``; they end with the test."""
    from headrace.testing.harness import Harness

    async with AsyncExitStack() as stack:

        async def make(*pipelines: Any, **options: Any) -> Harness:
            return await stack.enter_async_context(Harness(*pipelines, **options))

        yield make


@async_fixture
async def harness(new_harness: NewHarness, headrace_pipelines: Any, headrace_ports: object) -> Harness:
    """A harness that runs ``headrace_pipelines`` with ``headrace_ports``."""
    parts = headrace_pipelines if isinstance(headrace_pipelines, tuple | list) else (headrace_pipelines,)
    return await new_harness(*parts, ports=headrace_ports)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    module = sys.modules.get("headrace.testing.harness")
    if module is not None:
        module.entered.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    module = sys.modules.get("headrace.testing.harness")
    if report.failed and module is not None:
        seeds = sorted({one.seed for one in module.entered})
        lines = [f"to repeat: pytest {item.nodeid!r} --headrace-seed={seed}" for seed in seeds]
        if lines:
            report.sections.append(("headrace", "\n".join(lines)))
    return report


def pytest_configure(config: pytest.Config) -> None:
    seed, store = config.getoption("--headrace-seed"), config.getoption("--headrace-store")
    if seed or store:
        from headrace.testing import harness as module

        module.default_seed, module.default_store = seed, store


def pytest_unconfigure() -> None:
    module = sys.modules.get("headrace.testing._checker")
    if module is not None:
        module.CHECKER.close()
