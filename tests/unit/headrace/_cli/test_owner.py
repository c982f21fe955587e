"""Finding the owner, and what is said when it cannot be asked."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace._cli.owner import OwnerClient
from headrace._cli.problem import Problem
from headrace._store.ownership import OwnerLock, acquire


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[OwnerLock]:
    held = acquire(tmp_path / "a.db", now=0)
    yield held
    held.release()


def refused(store: Path, *path: str) -> Problem:
    with pytest.raises(Problem) as problem:
        OwnerClient.find(store).get(*(path or ("status",)))
    return problem.value


def test_nobody_owns_it(tmp_path: Path) -> None:
    """The message names the command that would."""
    problem = refused(tmp_path / "a.db")

    assert problem.code == "no_owner"
    assert "headrace up" in problem.hint


def test_owner_without_api(tmp_path: Path, lock: OwnerLock) -> None:
    """A program that embeds Headrace owns the file and takes no orders."""
    assert refused(tmp_path / "a.db").code == "no_api"


def test_owner_that_does_not_answer(tmp_path: Path, lock: OwnerLock) -> None:
    """Whether a change was made is not known then, and must be said."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    token = tmp_path / "a.db.token"
    token.write_text("secret")
    lock.announce(f"http://127.0.0.1:{port}", str(token))

    problem = refused(tmp_path / "a.db")

    assert problem.code == "owner_unreachable"
    assert str(lock.owner.pid) in problem.message


def test_token_that_is_gone(tmp_path: Path, lock: OwnerLock) -> None:
    """It belongs to another user, or somebody cleaned up."""
    lock.announce("http://127.0.0.1:1", str(tmp_path / "nope"))

    assert refused(tmp_path / "a.db").code == "no_permission"


def test_whoever_can_do_without_the_owner_asks_only_one_that_answers(tmp_path: Path, lock: OwnerLock) -> None:
    """Reading has another way: the file."""
    without_api = OwnerClient.reach(tmp_path / "a.db")
    token = tmp_path / "a.db.token"
    token.write_text("secret")
    lock.announce("http://127.0.0.1:1", str(token))

    assert without_api is None
    assert OwnerClient.reach(tmp_path / "nobody.db") is None
    assert OwnerClient.reach(tmp_path / "a.db") is not None
