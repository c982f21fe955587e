from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import UnexpectedAnswer
from headrace_pipelines.subtitles.model import Kind, Media, Release
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import candidates, read_page
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Reply

MEDIA = Media(url="file:///x", name="x", release=Release(), moviehash="92acb3d2da072802", imdb_id=77)


def item(**attributes: Any) -> Any:
    return {"id": "1", "type": "subtitle", "attributes": {"language": "he", "files": [{"file_id": 5}], **attributes}}


def test_nulls_and_zeroes_are_what_is_not_known() -> None:
    """The service fills in what it does not know, and each of these once broke a client."""
    (found,) = candidates(
        [item(fps=0, release=None, feature_details=None, ratings=None, upload_date=None, moviehash_match=None)],
        MEDIA,
        "p",
    )

    assert (found.fps, found.release_name, found.hash_matches, found.uploaded_at) == (None, "", False, None)


def test_what_has_no_file_or_no_language_of_ours_is_left_out() -> None:
    """There is nothing to download, or nobody to read it."""
    listed = [item(files=[]), item(files=None), item(language=None), item(language="qq"), item()]

    assert [one.file_id for one in candidates(listed, MEDIA, "p")] == ["5"]


def test_one_odd_item_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """A page of fifty is not lost because of one; that it was skipped is logged."""
    assert len(candidates([item(), {"type": "subtitle"}, item(fps="many")], MEDIA, "p")) == 1
    assert [record.getMessage() for record in caplog.records] == ["provider.item_skipped"] * 2


def test_a_list_of_nothing_but_oddities_is_no_empty_answer() -> None:
    """Somebody changed the interface, and the jobs must not say that there is no subtitle."""
    with pytest.raises(UnexpectedAnswer):
        candidates([{"type": "subtitle"}], MEDIA, "p")
    with pytest.raises(UnexpectedAnswer, match="no list"):
        read_page(Reply(status=200, body={"data": "none"}, shown="{}"))


def test_what_it_is_filed_under_sets_the_name_right() -> None:
    """Uploaders write what they like; the film that they chose is checked by others."""
    (found,) = candidates(
        [
            item(
                release="tdlnd 1x02 web",
                feature_details={
                    "feature_type": "Episode",
                    "title": "Low Water",
                    "parent_title": "Tideland",
                    "season_number": 1,
                    "episode_number": 2,
                    "imdb_id": 78,
                    "parent_imdb_id": 77,
                },
            )
        ],
        MEDIA,
        "p",
    )

    release = found.release
    assert (release.kind, release.title, release.season, release.episodes) == (Kind.EPISODE, "Tideland", 1, (2,))
    assert found.imdb_id == 77


def test_two_discs_are_told() -> None:
    """Half of a film is no subtitle for it."""
    (found,) = candidates([item(files=[{"file_id": 5}, {"file_id": 6}])], MEDIA, "p")

    assert found.parts == 2
