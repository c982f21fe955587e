"""Who is let in, from the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace._store.sqlite import open_sqlite
from headrace._web.admission import Admission, admission, check_token_exists, is_loopback, others_may_come
from headrace.errors import ConfigurationError
from headrace.settings import ServerSettings

CASES = [
    (ServerSettings(), False, False),
    (ServerSettings(host="localhost"), False, False),
    (ServerSettings(host="::1"), False, False),
    (ServerSettings(tokens="always"), False, True),
    (ServerSettings(host="0.0.0.0"), True, True),
    (ServerSettings(host="::"), True, True),
    (ServerSettings(host="192.0.2.1"), True, True),
    (ServerSettings(host="runs.example"), True, True),
    (ServerSettings(hosts=("runs.example",)), True, True),
]


@pytest.mark.parametrize("settings,others,needed", CASES, ids=str)
def test_tokens_are_needed_as_soon_as_others_may_come(settings: ServerSettings, others: bool, needed: bool) -> None:
    """Whoever sets names on this machine's own address has a proxy before it."""
    assert others_may_come(settings) is others
    assert admission(settings).needs_token is needed


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"])
def test_own_addresses(host: str) -> None:
    """What is taken for another machine's would be refused without reason."""
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.evil.test", "127.0.0.1.evil.test", ""])
def test_addresses_of_others(host: str) -> None:
    """What is taken for this machine's own would need no token."""
    assert not is_loopback(host)


def test_owner_token_is_not_shown() -> None:
    """A value that is printed for a look ends in a log."""
    assert "hidden" not in repr(Admission(owner_token="hidden"))


async def test_without_a_token_there_is_no_start(tmp_path: Path) -> None:
    """The text names the command that makes one."""
    database = await open_sqlite(tmp_path / "a.db")
    try:
        with pytest.raises(ConfigurationError, match="headrace tokens new NAME"):
            database.read(check_token_exists)
    finally:
        await database.close()
