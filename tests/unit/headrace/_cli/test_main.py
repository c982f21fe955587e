"""The group of all commands: help without imports, and where errors end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.testing import CliRunner

from headrace._cli.lazy import LazyGroup
from headrace._cli.main import main
from headrace._cli.problem import Problem, WrongUse
from headrace._cli.screen import Screen, common
from headrace.errors import RunNotFound


def groups() -> list[LazyGroup]:
    assert isinstance(main, LazyGroup)
    known = [main.get_command(click.Context(main), name) for name in main.commands_in]
    return [main, *(group for group in known if isinstance(group, LazyGroup))]


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_lines_in_the_list_are_those_of_the_commands(group: LazyGroup) -> None:
    """The list is written apart, so that help imports nothing; the two must not drift."""
    context = click.Context(group)

    for name, (_, line) in group.commands_in.items():
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert (command.help or "").splitlines()[0] == line


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.name)
def test_every_command_speaks_json(group: LazyGroup) -> None:
    """A script needs one form that stays."""
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in group.commands_in}

    assert [
        name
        for name, command in commands.items()
        if command is not None
        and not isinstance(command, click.Group)
        and "as_json" not in [parameter.name for parameter in command.params]
    ] == []


def test_unknown_command_is_wrong_use() -> None:
    """Exit code 2 tells a script that the call is wrong, not the world."""
    outcome = CliRunner().invoke(main, ["rums"])

    assert outcome.exit_code == 2
    assert "rums" in outcome.output


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Let `headrace config` fail in a chosen way."""

    def arm(error: Exception) -> None:
        @click.command("config")
        @common
        def broken(screen: Screen) -> NoReturn:
            raise error

        monkeypatch.setattr("headrace._cli.commands.config.config", broken)

    return arm


CASES = [
    (RunNotFound("x"), 4, "run_not_found"),
    (Problem("no", code="no_owner"), 4, "no_owner"),
    (WrongUse("no"), 2, "usage"),
    (PermissionError(13, "Permission denied", "a.db"), 4, "os_error"),
    (ZeroDivisionError("oh"), 4, "internal_error"),
]


@pytest.mark.parametrize("error,exit_code,code", CASES, ids=lambda case: type(case).__name__)
def test_error_is_a_line_and_an_exit_code(
    failing: Callable[[Exception], None], error: Exception, exit_code: int, code: str
) -> None:
    """A stack trace tells a user that the program is broken, not what to do."""
    failing(error)

    told = CliRunner().invoke(main, ["config"])
    as_json = CliRunner().invoke(main, ["config", "--json"])

    assert told.exit_code == as_json.exit_code == exit_code
    assert told.stdout == ""
    assert told.stderr.startswith("Error: ")
    assert "Traceback" not in told.stderr
    assert json.loads(as_json.stdout)["error"]["code"] == code


def test_debug_shows_the_error_itself(failing: Callable[[Exception], None]) -> None:
    """Somebody has to mend it."""
    failing(ZeroDivisionError("oh"))

    outcome = CliRunner().invoke(main, ["config", "--debug"])

    assert isinstance(outcome.exception, ZeroDivisionError)


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some people cannot read coloured text."""
    monkeypatch.setenv("NO_COLOR", "1")

    outcome = CliRunner().invoke(main, ["runs", "ls", "--store", str(tmp_path / "no.db")], color=True)

    assert "\x1b" not in outcome.output
