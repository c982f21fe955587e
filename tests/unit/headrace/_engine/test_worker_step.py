"""The worker's side of one step, without a process around it."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from types import ModuleType

import pytest

import headrace._authoring.context as headrace_context
from headrace._authoring.step import step
from headrace._base.recorded_error import decode_error
from headrace._engine.worker_step import WorkerStepContext, find_step, perform
from headrace.errors import ConfigurationError, DefinitionError, ValueRefused


class Owner:
    def __init__(self, *, cancelled: bool = False) -> None:
        self.cancelled = cancelled
        self.reported: list[bytes] = []

    def report(self, progress: bytes) -> None:
        self.reported.append(progress)


class Ports:
    pass


@step(cpu=True)
def double(number: int) -> int:
    return 2 * number


@step(cpu=True)
def misfit() -> int:
    return "three"  # type: ignore[return-value]  # what is tried


@step(cpu=True)
def say_who() -> list[object]:
    step.progress({"done": 1})
    return [step.run_id, step.key, step.attempt, step.cancelled, step.previous_progress()]


@step(cpu=True)
def leave() -> None:
    sys.exit(3)


@step(cpu=True)
def borrow() -> None:
    headrace_context.use(Ports)


def halve(number: int) -> int:
    return number // 2


small = step(cpu=True)(halve)
tiny = step(cpu=True, name="tiny")(halve)


def run(
    name: str, *args: object, owner: Owner | None = None, module: str = __name__, previous: bytes | None = None
) -> tuple[bool, bytes]:
    shape = (
        getattr(sys.modules[__name__], name).shape
        if module == __name__ and hasattr(sys.modules[__name__], name)
        else double.shape
    )
    return perform(
        owner or Owner(), main_name=None, module=module, qualname=name, main_path=None, step_name=name, run_id="orders-1", key="orders-1/4",
        attempt=2, arguments=shape.encode(args, {}), previous_progress=previous,
    )  # fmt: skip


def failure_of(answer: tuple[bool, bytes]) -> BaseException:
    is_result, body = answer
    assert not is_result
    return decode_error(body)


def test_a_result_is_encoded_where_it_was_made() -> None:
    """The owner only passes bytes on; a large result costs its event loop nothing."""
    assert run("double", 21) == (True, b"42")


def test_a_result_that_does_not_fit_its_annotation_is_a_failure() -> None:
    """Refused in the worker, or a value that cannot be read again would reach the journal."""
    assert isinstance(failure_of(run("misfit")), ValueRefused)


def test_a_step_knows_who_it_is_and_how_far_it_was() -> None:
    """Idempotency keys and resumed work depend on it as much as in the owner's process."""
    owner = Owner(cancelled=True)

    is_result, body = run("say_who", owner=owner, previous=b'{"done":7}')

    assert (is_result, json.loads(body)) == (True, ["orders-1", "orders-1/4", 2, True, {"done": 7}])
    assert owner.reported == [b'{"done":1}']


def test_nothing_is_left_of_a_step_that_has_ended() -> None:
    """Code of the next step's module would otherwise run as if inside the last step."""
    run("double", 1)

    assert headrace_context.current_step.get() is None


def test_leaving_the_program_is_a_failure_of_the_step() -> None:
    """sys.exit() in a library would otherwise count as a crash and put the run in quarantine."""
    assert "SystemExit" in str(failure_of(run("leave")))


def test_use_says_why_a_cpu_step_has_no_ports() -> None:
    """The wiring is in another process; the reader needs the way out, not a missing object."""
    error = failure_of(run("borrow"))

    assert isinstance(error, ConfigurationError)
    assert "process of their own" in str(error)
    assert "as arguments" in str(error)


def test_a_module_that_cannot_be_imported_is_a_failure_with_its_traceback() -> None:
    """As a death it would be tried again, three times, and say nothing of the cause."""
    error = failure_of(run("double", 1, module="headrace_no_such_module"))

    assert isinstance(error, ModuleNotFoundError)
    assert "headrace_no_such_module" in str(error)


def test_a_step_of_an_interactive_session_is_told_where_to_go() -> None:
    """There is no file to import; the plain AttributeError of pickle has puzzled people for decades."""
    error = failure_of(run("double", 1, module="__main__"))

    assert isinstance(error, DefinitionError)
    assert "write it into a module" in str(error)


def test_a_step_under_another_name_than_its_function_is_found() -> None:
    """``small = step(cpu=True)(halve)`` leaves the plain function at the name that the step reports."""
    module = sys.modules[__name__]

    assert find_step(module, "halve", "halve") is small
    assert find_step(module, "halve", "tiny") is tiny


def test_a_step_that_is_not_there_is_named() -> None:
    """After a rename, with a worker of other code, this is all that there is to go by."""
    with pytest.raises(DefinitionError, match="no step 'gone'"):
        find_step(ModuleType("shop"), "gone", "gone")


async def test_time_goes_on_in_a_worker() -> None:
    """A cpu step may run asyncio code of its own, which asks for the time and sleeps."""
    context = WorkerStepContext(Owner(), step_name="s", run_id="r", key="r/1", attempt=1, previous_progress=None)
    before = context.now()

    await context.sleep(timedelta(microseconds=1))

    assert context.now() > before
