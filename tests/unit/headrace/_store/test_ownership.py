import os
from pathlib import Path

import pytest

from headrace._store.ownership import acquire, lock_path, read_owner
from headrace.errors import StoreOwned

NOON = 1_700_000_000_000_000


def test_a_second_owner_is_refused_with_the_first_ones_pid(tmp_path: Path) -> None:
    """Two owners would overwrite each other; the text must say whom to stop."""
    path = tmp_path / "store.db"
    lock = acquire(path, now=NOON)
    lock.announce("http://127.0.0.1:8000", None)

    with pytest.raises(
        StoreOwned, match=rf"process {os.getpid()} on .* since 2023-11-14T22:13:20.*http://127.0.0.1:8000"
    ):
        acquire(path, now=NOON)

    lock.release()


def test_the_next_owner_comes_after_release(tmp_path: Path) -> None:
    """What the last owner left in the lock file must not keep the next one out."""
    path = tmp_path / "store.db"
    acquire(path, now=NOON).release()

    acquire(path, now=NOON).release()


def test_the_owner_is_found(tmp_path: Path) -> None:
    """The command line asks the owner for what changes state, so it must find it."""
    path = tmp_path / "store.db"
    lock = acquire(path, now=NOON)
    lock.announce("http://127.0.0.1:8000", "token")
    lock.announce("http://[::1]:1", None)

    owner = read_owner(path)

    assert owner == lock.owner
    assert owner is not None
    assert (owner.pid, owner.started_at, owner.address, owner.token_file) == (os.getpid(), NOON, "http://[::1]:1", None)
    lock.release()


def test_nobody_owns_a_free_file(tmp_path: Path) -> None:
    """A dead owner's lock file is still there and means nothing."""
    path = tmp_path / "store.db"
    never = read_owner(path)
    acquire(path, now=NOON).release()

    assert (never, read_owner(path)) == (None, None)
    assert lock_path(path).exists()


def test_a_forked_child_holds_nothing(tmp_path: Path) -> None:
    """A worker process that outlives its killed owner must not keep the file locked."""
    path = tmp_path / "store.db"
    lock = acquire(path, now=NOON)
    born, die = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(born[1], b"!")
        os.read(die[0], 1)
        os._exit(0)

    os.read(born[0], 1)
    lock.release()
    owner = read_owner(path)
    os.write(die[1], b"!")
    os.waitpid(child, 0)
    for descriptor in (*born, *die):
        os.close(descriptor)

    assert owner is None
