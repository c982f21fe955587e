"""Twenty invented videos, and who uploaded which subtitles for them: enough to see every way that a job can go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from headrace_pipelines.subtitles.rules.moviehash import PIECE, moviehash
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.catalogue import Feature, Offered
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.dialogue import EPISODE_CUES, FILM_CUES, srt

VIDEO_SIZE = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoVideo:
    path: str
    """Below the root of the library."""
    feature: Feature
    languages: tuple[str, ...] = ()
    """In which somebody uploaded a subtitle for this very file."""
    machine: tuple[str, ...] = ()
    """In which there is what a machine translated."""
    other_release: tuple[str, ...] = ()
    """In which there is one for a release from elsewhere."""

    @property
    def release(self) -> str:
        return self.path.rpartition("/")[2].rpartition(".")[0]

    def content(self) -> bytes:
        """What stands for the video: no picture, but a hash of its own."""
        return random.Random(self.path).randbytes(VIDEO_SIZE)

    def moviehash(self) -> str:
        return _moviehash(self.path)


@lru_cache(maxsize=64)
def _moviehash(path: str) -> str:
    content = random.Random(path).randbytes(VIDEO_SIZE)
    hashed = moviehash(VIDEO_SIZE, content[:PIECE], content[-PIECE:])
    if hashed is None:
        raise AssertionError(f"{VIDEO_SIZE} bytes are enough for a hash")
    return hashed


def _film(
    number: int, title: str, year: int, rest: str, extension: str = "mkv", **offers: tuple[str, ...]
) -> DemoVideo:
    name = f"{title.replace(' ', '.').replace(chr(39), '')}.{year}.{rest}"
    feature = Feature(id=number, title=title, year=year, imdb_id=9_100_000 + number, tmdb_id=910_000 + number)
    return DemoVideo(path=f"Films/{title} ({year})/{name}.{extension}", feature=feature, **offers)


def _episode(number: int, series: str, season: int, episode: int, title: str, **offers: tuple[str, ...]) -> DemoVideo:
    name = (
        f"{series.replace(' ', '.')}.S{season:02d}E{episode:02d}.1080p.WEB.H264-{'TIDAL' if season == 1 else 'OXBOW'}"
    )
    series_id = sum(map(ord, series)) % 1000
    feature = Feature(
        id=number,
        title=title,
        year=2020 + season,
        imdb_id=9_200_000 + number,
        tmdb_id=920_000 + number,
        season=season,
        episode=episode,
        series=series,
        series_imdb_id=9_300_000 + series_id,
        series_tmdb_id=930_000 + series_id,
    )
    return DemoVideo(path=f"Series/{series}/Season {season:02d}/{name}.mkv", feature=feature, **offers)


DEMO: tuple[DemoVideo, ...] = (
    _film(101, "The Ninth Lighthouse", 2021, "1080p.BluRay.x264-HARBOUR", languages=("en", "he", "es")),
    _film(102, "Salt and Paper", 2019, "720p.WEB-DL.H264-INK", languages=("en", "fr", "de")),
    _film(103, "A Map of Winter", 2022, "2160p.BluRay.x265-NORTH", languages=("en",)),
    _film(104, "The Orchard Machine", 2018, "1080p.WEB.H264-CIDER", languages=("en",), machine=("he",)),
    _film(105, "Quiet Hours", 2020, "1080p.BluRay.x264-HUSH", languages=("he", "en", "pt-br")),
    _film(106, "Copper Moon", 2017, "720p.HDTV.x264-ORE", "mp4", languages=("en",), other_release=("he",)),
    _film(107, "Letters to Nobody", 2023, "1080p.WEB.H264-POST", languages=("es",)),
    _film(108, "The Glass Ferry", 2016, "1080p.BluRay.x264-PRISM", languages=("en", "de")),
    _film(109, "Ember Street", 2021, "1080p.WEB.H264-ASH", machine=("en",)),
    _film(110, "No Country for Clocks", 2024, "1080p.WEB.H264-TICK"),
    _film(111, "The Beekeeper's Atlas", 2015, "DVDRip.XviD-HIVE", "avi", languages=("en", "fr")),
    _film(112, "Tomorrow in Reverse", 2022, "1080p.BluRay.x264-LOOP", languages=("he",)),
    _episode(201, "Tideland", 1, 1, "Low Water", languages=("en", "he")),
    _episode(202, "Tideland", 1, 2, "The Causeway", languages=("en", "he")),
    _episode(203, "Tideland", 1, 3, "Spring Tide", languages=("en",)),
    _episode(204, "Tideland", 2, 1, "Wreckage", languages=("en", "es")),
    _episode(205, "The Understudies", 1, 1, "Cold Reading", languages=("en",)),
    _episode(206, "The Understudies", 1, 2, "Blocking", languages=("en", "pt-br")),
    _episode(207, "The Understudies", 1, 3, "Dress Rehearsal", languages=("fr",)),
    _episode(208, "The Understudies", 1, 4, "Opening Night"),
)


@lru_cache(maxsize=1)
def demo_subtitles() -> tuple[Offered, ...]:
    """Everything that was uploaded for the twenty videos."""
    return tuple(offered for video in DEMO for offered in _offers(video))


def _offers(video: DemoVideo) -> Iterator[Offered]:
    feature = video.feature
    cues = FILM_CUES if feature.episode is None else EPISODE_CUES
    begin = feature.id * 1000
    name = f"{feature.series} {feature.season} {feature.title}" if feature.series else feature.title
    hashes = frozenset({video.moviehash()})
    for number, language in enumerate(video.languages):
        content = srt(name, language, cues)
        yield Offered(
            file_id=begin + number,
            feature=feature,
            language=language,
            release=video.release,
            content=content,
            hashes=hashes,
            from_trusted=number == 0,
            downloads=900 - 100 * number,
        )
    for number, language in enumerate(video.machine):
        content = srt(name, language, cues)
        yield Offered(
            file_id=begin + 100 + number,
            feature=feature,
            language=language,
            release=video.release,
            content=content,
            hashes=hashes,
            ai_translated=True,
            downloads=12,
        )
    for number, language in enumerate(video.other_release):
        # Uploaded under the hash of this file, and made for another: it happens all the time.
        yield Offered(
            file_id=begin + 200 + number,
            feature=feature,
            language=language,
            release=f"{feature.title.replace(' ', '.')}.{feature.year}.1080p.BluRay.x265-ELSEWHERE",
            content=srt(name, language, cues),
            hashes=hashes,
            fps=25.0,
            downloads=77,
        )
