from pathlib import Path

import pytest

from headrace._store.location import PostgresUrl
from headrace._web.server import _place_for_token, _token
from headrace.errors import ConfigurationError

DATABASE = PostgresUrl("postgresql://ann@host/runs")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_the_token_of_a_database_is_for_this_user_alone(runtime: Path) -> None:
    """Who can read it may change every run; a database has no folder beside it that says who that is."""
    with _token(DATABASE) as (token, file):
        modes = [path.stat().st_mode & 0o777 for path in (file.parent, file)]
        content = file.read_text()

    assert (modes, content, file.exists()) == ([0o700, 0o600], token, False)


def test_each_database_has_one_place_for_its_token(runtime: Path) -> None:
    """The owner after a crash takes away what the one before left, and no other one's."""
    others = [PostgresUrl("postgresql://ann@host/runs", "other"), PostgresUrl("postgresql://ann@host/other")]

    assert _place_for_token(DATABASE) == _place_for_token(PostgresUrl(DATABASE.secret))
    assert len({_place_for_token(place) for place in (DATABASE, *others)}) == 3


def test_a_folder_that_others_can_enter_is_refused(runtime: Path) -> None:
    """In a temporary folder anybody may have made it first."""
    folder = _place_for_token(DATABASE).parent
    folder.chmod(0o755)

    with pytest.raises(ConfigurationError, match="is not this user's alone"):
        _place_for_token(DATABASE)
