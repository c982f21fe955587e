from __future__ import annotations

from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.trouble import (
    Ahead,
    FileTrouble,
    Trouble,
    Troubles,
)


def test_trouble_comes_where_and_as_often_as_it_was_ordered() -> None:
    """A test that orders one failure must not see two."""
    troubles = Troubles()
    download = Ahead(trouble=Trouble.STATUS, at="/download")
    troubles.add(1, download)
    troubles.add(2, Ahead(trouble=Trouble.HTML))

    assert troubles.next_for("/subtitles") == Ahead(trouble=Trouble.HTML)
    assert troubles.next_for("/download") == download
    assert troubles.next_for("/download") == Ahead(trouble=Trouble.HTML)
    assert troubles.next_for("/download") is None


def test_files_are_spoilt_for_a_while_or_for_ever() -> None:
    """Some links work at the second try, some subtitles never."""
    troubles = Troubles()
    troubles.spoil(1, FileTrouble.EMPTY, times=1)
    troubles.spoil(2, FileTrouble.UNKNOWN)

    assert [troubles.of_file(1), troubles.of_file(1)] == [FileTrouble.EMPTY, None]
    assert troubles.is_unknown(2)
    assert not troubles.is_unknown(1)
