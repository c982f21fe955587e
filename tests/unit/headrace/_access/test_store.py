"""Tokens and logins on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace._access import store
from headrace._access.model import Scope, Token
from headrace._access.secret import Secret, new_session, new_token
from headrace._base.clock import to_micros
from headrace._ports.database import Database
from headrace._store.sqlite import open_sqlite
from headrace.errors import Conflict, NotFound, ValueRefused

AT = 1_700_000_000_000_000


@pytest.fixture
def database(each_database: Database) -> Database:
    return each_database


async def add(database: Database, name: str = "ci", secret: Secret | None = None) -> tuple[Secret, Token]:
    made = secret or new_token()
    return made, await database.write(lambda tx: store.add_token(tx, made, name=name, scope=Scope.OPERATE, at=AT))


async def test_a_token_is_found_by_what_it_is(database: Database) -> None:
    """And by nothing less: the id in it is no secret."""
    secret, token = await add(database)
    other = new_token()
    same_id = secret.text[:12] + other.text[12:]

    assert database.read(lambda reader: store.token_behind(reader, secret.text)) == token
    for text in (other.text, same_id, secret.id, "", secret.text.upper()):
        assert database.read(lambda reader: store.token_behind(reader, text)) is None  # noqa: B023 - called at once


async def test_only_the_hash_is_on_disk(tmp_path: Path) -> None:
    """A backup that is lost must not let anybody in."""
    database = await open_sqlite(tmp_path / "a.db", mode="test")
    secret, token = await add(database)
    session = new_session()
    await database.write(lambda tx: store.open_session(tx, session, token, AT))
    await database.close()

    written = database.path.read_bytes()
    assert token.name.encode() in written
    assert secret.text.rpartition("_")[2].encode() not in written
    assert session.encode() not in written


async def test_a_revoked_token_is_good_for_nothing(database: Database) -> None:
    """Nor are the logins that were made with it."""
    secret, token = await add(database)
    session = new_session()
    await database.write(lambda tx: store.open_session(tx, session, token, AT))

    revoked = await database.write(lambda tx: store.revoke_token(tx, "ci", AT + 1))

    assert revoked.revoked_at == AT + 1
    assert database.read(lambda reader: store.token_behind(reader, secret.text)) is None
    assert database.read(lambda reader: store.token_of_session(reader, session, AT + 1)) is None
    assert not database.read(store.any_token)
    with pytest.raises(NotFound):
        await database.write(lambda tx: store.revoke_token(tx, "ci", AT + 2))


async def test_revoking_one_leaves_the_others(database: Database) -> None:
    """To change a token, make a new one, then revoke the old one."""
    await add(database, "ci")
    secret, token = await add(database, "ci-2")
    session = new_session()
    await database.write(lambda tx: store.open_session(tx, session, token, AT))

    await database.write(lambda tx: store.revoke_token(tx, "ci", AT))

    assert database.read(lambda reader: store.token_behind(reader, secret.text)) == token
    assert database.read(lambda reader: store.token_of_session(reader, session, AT)) == token


async def test_a_name_is_given_to_one_good_token(database: Database) -> None:
    """Two tokens of one name cannot be told apart in a log."""
    await add(database)
    with pytest.raises(Conflict):
        await add(database)

    await database.write(lambda tx: store.revoke_token(tx, "ci", AT))
    await add(database)

    assert [token.revoked_at for token in database.read(store.tokens)] == [AT, None]


@pytest.mark.parametrize("name", ["", " ", "a/b", "-a", "ü", "a" * 65, "a\n"])
async def test_odd_names_are_refused(database: Database, name: str) -> None:
    """They stand in paths, on screens and in logs."""
    with pytest.raises(ValueRefused):
        await add(database, name)


async def test_a_login_ends(database: Database) -> None:
    """And what has ended is cleared away by the next one."""
    _, token = await add(database)
    first, second = new_session(), new_session()
    end = AT + to_micros(store.SESSION)
    await database.write(lambda tx: store.open_session(tx, first, token, AT))

    assert database.read(lambda reader: store.token_of_session(reader, first, end - 1)) == token
    assert database.read(lambda reader: store.token_of_session(reader, first, end)) is None
    await database.write(lambda tx: store.open_session(tx, second, token, end))
    assert database.read(lambda reader: store.token_of_session(reader, first, AT)) is None


async def test_logging_out_ends_one_login(database: Database) -> None:
    """Another browser stays in."""
    _, token = await add(database)
    here, there = new_session(), new_session()
    for session in (here, there):
        await database.write(lambda tx: store.open_session(tx, session, token, AT))  # noqa: B023 - awaited at once

    await database.write(lambda tx: store.close_session(tx, here))

    assert database.read(lambda reader: store.token_of_session(reader, here, AT)) is None
    assert database.read(lambda reader: store.token_of_session(reader, there, AT)) == token
