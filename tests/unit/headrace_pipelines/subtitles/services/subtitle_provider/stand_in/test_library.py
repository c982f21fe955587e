from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Kind, Media, Wanted
from headrace_pipelines.subtitles.rules.naming import is_media
from headrace_pipelines.subtitles.rules.releases import parse_release
from headrace_pipelines.subtitles.rules.scoring import rank
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import candidates
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DEMO, DemoVideo, demo_subtitles

HEBREW = Wanted(language="he")


def test_twenty_videos_that_can_be_told_apart() -> None:
    """Two with one hash or one file id would get each other's subtitles."""
    assert len(DEMO) == len({video.moviehash() for video in DEMO}) == len({video.path for video in DEMO}) == 20
    assert len({one.file_id for one in demo_subtitles()}) == len(demo_subtitles())
    assert all(is_media(video.path) for video in DEMO)
    assert len(DEMO[0].content()) == 200_000


def test_their_names_say_what_they_are() -> None:
    """A demo in which nothing is recognised shows nothing."""
    for video in DEMO:
        release = parse_release(video.path.rpartition("/")[2])
        feature = video.feature
        assert release.title.replace("'", "") == (feature.series or feature.title).replace("'", "")
        assert (release.kind is Kind.EPISODE) == (feature.episode is not None)
        assert release.season == feature.season


@pytest.mark.parametrize("video", DEMO, ids=lambda video: video.feature.title)
def test_what_was_made_for_a_video_is_what_is_chosen(video: DemoVideo) -> None:
    """What a machine translated is not taken; what is under the hash of another release counts as that release."""
    media = Media(url="file:///x", name=video.path, release=parse_release(video.release), moviehash=video.moviehash())
    answers = [one.answer(video.moviehash()) for one in demo_subtitles() if one.feature is video.feature]
    offered = candidates(answers, media, "p")

    chosen = {
        language
        for language in ("en", "he", "es", "fr", "de", "pt-BR")
        if any(not one.rejected for one in rank(offered, media, Wanted(language=language)))
    }

    assert chosen == {{"pt-br": "pt-BR"}.get(code, code) for code in video.languages + video.other_release}
    assert all("hash" not in one.matches for one in rank(offered, media, HEBREW) if one.candidate.fps == 25.0)


def test_every_way_of_a_job_is_there() -> None:
    """Found, translated, machine translated, wrongly hashed, and nothing at all."""
    hebrew = [video for video in DEMO if "he" in video.languages]
    translated = [video for video in DEMO if video.languages and "he" not in video.languages]
    nothing = [video for video in DEMO if not (video.languages or video.machine or video.other_release)]

    assert (len(hebrew) >= 4, len(translated) >= 6, len(nothing) >= 2) == (True, True, True)
    assert any(one.ai_translated for one in demo_subtitles())
    assert any(one.fps == 25.0 for one in demo_subtitles())
