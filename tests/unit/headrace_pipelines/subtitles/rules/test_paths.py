"""Addresses and paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.rules.paths import NoMediaAddress, is_name, path_of, url_of, url_of_name


@pytest.mark.parametrize(
    "url, path",
    [
        ("file:///media/Film.mkv", "/media/Film.mkv"),
        ("file://localhost/media/Film.mkv", "/media/Film.mkv"),
        ("file:///media/Am%C3%A9lie%20(2001).mkv", "/media/Amélie (2001).mkv"),
        ("file:///media/Who Framed?.mkv", "/media/Who Framed?.mkv"),
        ("file:///media/%239 (2009)#1.mkv", "/media/#9 (2009)#1.mkv"),
        ("FILE:///media/a.mkv", "/media/a.mkv"),
        ("https://example.com/a.mkv", None),
        ("http://example.com/a.mkv", None),
    ],
)
def test_addresses_of_files_are_paths(url: str, path: str | None) -> None:
    """An address is no path: another program looked for a folder called `file:`, and found no film ever."""
    assert path_of(url) == path


@pytest.mark.parametrize(
    "url, reason",
    [
        ("/media/Film.mkv", "no scheme"),
        ("ftp://example.com/a", "scheme is 'ftp'"),
        ("file://server/media/a.mkv", "another machine, 'server'"),
        ("file:///", "absolute path"),
        ("file:///a%00b", "absolute path"),
        ("https:///a", "names no host"),
        ("http://[::1/a", "Invalid IPv6"),
        ("", "no scheme"),
    ],
)
def test_other_addresses_are_refused(url: str, reason: str) -> None:
    """The message says what an address looks like."""
    with pytest.raises(NoMediaAddress, match=rf"{reason}.*Give one such as file:///media/Film\.mkv"):
        path_of(url)


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).map(lambda text: f"/m{text}")
)
def test_paths_survive_as_addresses(path: str) -> None:
    """Whatever a film is called."""
    assert path_of(url_of(path)) == path_of(url_of(path_of(url_of(path)) or ""))
    assert url_of(path).isascii()


def test_a_path_has_one_address() -> None:
    """Two addresses would be two jobs for one film."""
    assert url_of("/media//films/./Amélie #1?.mkv") == "file:///media/films/Am%C3%A9lie%20%231%3F.mkv"
    with pytest.raises(ValueError, match="no absolute path"):
        url_of("media/a.mkv")


def test_names_that_are_no_text_survive() -> None:
    """An old disk has names in Latin-1."""
    assert path_of(url_of("/media/\udce9.mkv")) == "/media/\udce9.mkv"


def test_a_video_of_which_only_the_name_is_known_lies_nowhere() -> None:
    """Somebody has dropped it into a browser on another machine."""
    url = url_of_name("Salt & Paper 100%?.mkv")

    assert is_name(url)
    assert path_of(url) is None
    with pytest.raises(NoMediaAddress, match="names no video"):
        path_of("name:")
