"""`ls`, `show`, `history`, `result` and `watch` on an encrypted store, with its key and without."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headrace import Headrace, Pipeline, flow, step
from headrace._base.vault import key_id, new_key
from headrace._cli.main import main

KEY = new_key()


@step
async def double(text: str) -> str:
    return 2 * text


@flow(id="doubled")
async def doubled(text: str) -> str:
    return await double(text)


PIPELINE = Pipeline("reading", flows=[doubled])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "reading.db"

    async def fill() -> None:
        async with Headrace([PIPELINE], store=path, keys=[KEY]) as app:
            await app.run(doubled, "secret")

    asyncio.run(fill())
    return path


def called(store: Path, *words: str, key: str = "") -> Result:
    environment = {"HEADRACE_STORE__PATH": str(store), "HEADRACE_STORE__KEY": key}
    return CliRunner().invoke(main, list(words), env=environment)


@pytest.mark.parametrize(
    "words", [("ls", "--all"), ("show", "doubled"), ("history", "doubled"), ("watch", "doubled")], ids=lambda it: it[0]
)
def test_without_the_key_commands_show_the_rest_and_say_so(store: Path, words: tuple[str, ...]) -> None:
    """A stack trace or an empty answer would tell nobody what is missing."""
    without = called(store, "runs", *words)
    with_it = called(store, "runs", *words, key=KEY)

    assert (without.exit_code, with_it.exit_code) == (0, 0)
    assert "secret" not in without.output
    assert f"this key was not given: {key_id(KEY)}" in without.stderr
    assert with_it.stderr == ""
    assert ("secretsecret" in with_it.stdout) == (words[0] != "ls")


def test_json_says_what_is_encrypted(store: Path) -> None:
    """A program must not take the note for the value."""
    shown = json.loads(called(store, "runs", "show", "doubled", "--json").stdout)

    assert shown["input"] == shown["result"] == {"encrypted": key_id(KEY)}
    assert shown["run"]["state"] == "completed"


def test_a_result_is_given_or_refused(store: Path) -> None:
    """Scripts pass on what this command prints."""
    without = called(store, "runs", "result", "doubled", "--json")

    assert without.exit_code == 4
    assert json.loads(without.stdout)["error"]["code"] == "key_missing"
    assert called(store, "runs", "result", "doubled", key=KEY).stdout == '"secretsecret"\n'


def test_check_and_doctor_say_whether_they_could_look(store: Path) -> None:
    """`sound` must not mean `not looked at`."""
    without, with_it = called(store, "check"), called(store, "check", key=KEY)

    assert (without.exit_code, with_it.exit_code) == (0, 0)
    assert "could not be looked into" in without.stderr
    assert with_it.stderr == ""
    assert json.loads(called(store, "check", "--json").stdout)["unopened"] == 4
    assert f"values are encrypted with key {key_id(KEY)}" in called(store, "doctor", key=KEY).stdout
    assert key_id(KEY) in called(store, "doctor").stdout


def test_no_command_repeats_a_wrong_key(store: Path) -> None:
    """It may be the right one of another store."""
    almost = KEY[:-4]
    commands = [
        ("runs", "show", "doubled"),
        ("runs", "result", "doubled"),
        ("check",),
        ("doctor",),
        ("config",),
        ("config", "--json"),
        ("keys", "rotate"),
    ]

    outputs = [called(store, *words, key=almost).output for words in commands]

    assert [output for output in outputs if almost in output] == []
    assert "HEADRACE_STORE__KEY is not 32 bytes in base64" in outputs[0]
