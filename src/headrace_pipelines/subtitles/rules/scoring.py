"""Which of the subtitles that are offered is the best, and why each stands where it stands.

A point is worth what it tells: the weights are those of subliminal, where all facts of a release together weigh as much as
the hash of the file. Only facts that are known of the video can be expected of a subtitle, so the score is the share of
those that it has. What contradicts is rejected, however much else fits: the right series with the wrong episode is wrong.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace_pipelines.subtitles.model import Candidate, Kind, Media, Release, Scored, Wanted
from headrace_pipelines.subtitles.rules.languages import SAME_BY_DEFAULT, SameLanguages

MOVIE_WEIGHTS: Mapping[str, int] = {
    "title": 162,
    "year": 54,
    "country": 54,
    "release_group": 18,
    "streaming_service": 18,
    "fps": 9,
    "source": 4,
    "audio_codec": 2,
    "resolution": 1,
    "video_codec": 1,
}
EPISODE_WEIGHTS: Mapping[str, int] = {
    **MOVIE_WEIGHTS,
    "title": 486,
    "year": 162,
    "country": 162,
    "season": 54,
    "episode": 54,
}
OTHER_FRAME_RATE = 15
"""Points off: made for 25 frames a second and shown at 23.976, the last line of a long film comes minutes late."""
UNWANTED_HEARING_IMPAIRED = 5

_SAME_RATE = 0.05
_ABOUT_THE_TITLE = ("title", "year", "country")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringPolicy:
    """What is good enough."""

    least_for_movies: int = 70
    least_for_episodes: int = 90
    most_for_machines: int = 50
    """What a machine translated counts at most, so that what a person made replaces it."""
    same_languages: SameLanguages = SAME_BY_DEFAULT
    denied: frozenset[tuple[str, str]] = frozenset()
    """Provider and file id of subtitles that somebody found to be bad."""

    def least_for(self, kind: Kind) -> int:
        return self.least_for_episodes if kind is Kind.EPISODE else self.least_for_movies


DEFAULT_POLICY = ScoringPolicy()


def rank(
    candidates: Iterable[Candidate], media: Media, wanted: Wanted, policy: ScoringPolicy = DEFAULT_POLICY
) -> tuple[Scored, ...]:
    """All of them, the best first and the rejected last; the order in which they came does not matter."""
    return tuple(sorted((score(candidate, media, wanted, policy) for candidate in candidates), key=_place))


def score(candidate: Candidate, media: Media, wanted: Wanted, policy: ScoringPolicy = DEFAULT_POLICY) -> Scored:
    facts = _facts(candidate, media)
    doubt = _doubt(candidate, media) if candidate.hash_matches else ""
    trusted = candidate.hash_matches and not doubt
    points = 100 if trusted else _share(facts, media.release.kind)
    points = max(0, points - _penalty(candidate, media, wanted))
    if candidate.machine_translated:
        points = min(points, policy.most_for_machines)
    matches = (["hash"] if trusted else []) + [name for name, fits in facts.items() if fits]
    rejected = _unusable(candidate, media, wanted, policy) or _too_little(candidate, media, points, policy, doubt)
    return Scored(candidate=candidate, score=points, matches=tuple(matches), rejected=rejected)


def _place(scored: Scored) -> tuple[object, ...]:
    candidate = scored.candidate
    age = (candidate.uploaded_at or _EPOCH).timestamp()
    return (
        bool(scored.rejected),
        -scored.score,
        "hash" not in scored.matches,
        not candidate.trusted,
        -candidate.downloads,
        -candidate.rating,
        -age,
        candidate.provider,
        candidate.file_id,
        repr(candidate),  # what is listed twice, in two ways
    )


# --- what fits ---------------------------------------------------------------------------------------------------------


def _share(facts: Mapping[str, bool], kind: Kind) -> int:
    weights = EPISODE_WEIGHTS if kind is Kind.EPISODE else MOVIE_WEIGHTS
    known = {name: weights[name] for name in facts if name in weights}
    most = sum(known.values())
    return sum(weight for name, weight in known.items() if facts[name]) * 100 // most if most else 0


def _facts(candidate: Candidate, media: Media) -> dict[str, bool]:
    """What is known of the video, and whether the subtitle is for a video like that."""
    video, offered = media.release, candidate.release
    facts = _ids(candidate, media)
    same_title = any(facts.values())
    if video.title or same_title:
        facts["title"] = same_title or plain_title(video.title) == plain_title(offered.title)
    if video.year is not None:
        facts["year"] = same_title or video.year == offered.year
    if video.country:
        facts["country"] = same_title or video.country.casefold() == offered.country.casefold()
    if video.kind is Kind.EPISODE:
        facts |= _place_in_series(video, offered)
    facts |= _make(video, offered)
    if media.fps and candidate.fps:
        facts["fps"] = _same_rate(media.fps, candidate.fps)
    return facts


def _ids(candidate: Candidate, media: Media) -> dict[str, bool]:
    facts = {}
    if media.imdb_id is not None and candidate.imdb_id is not None:
        facts["imdb_id"] = media.imdb_id == candidate.imdb_id
    if media.tmdb_id is not None and candidate.tmdb_id is not None:
        facts["tmdb_id"] = media.tmdb_id == candidate.tmdb_id
    return facts


def _place_in_series(video: Release, offered: Release) -> dict[str, bool]:
    facts = {}
    if video.season is not None:
        facts["season"] = video.season == offered.season
    if video.episodes:
        facts["episode"] = set(video.episodes) == set(offered.episodes)
    return facts


def _make(video: Release, offered: Release) -> dict[str, bool]:
    pairs = {
        "release_group": (video.group, offered.group),
        "streaming_service": (video.streaming_service, offered.streaming_service),
        "source": (video.source, offered.source),
        "audio_codec": (video.audio_codec, offered.audio_codec),
        "resolution": (video.resolution, offered.resolution),
        "video_codec": (video.video_codec, offered.video_codec),
    }
    return {name: _same(ours, theirs) for name, (ours, theirs) in pairs.items() if ours}


def _same(ours: str, theirs: str) -> bool:
    return _folded(ours) == _folded(theirs)


def _folded(text: str) -> str:
    # A disc of higher resolution has the same cut of the film.
    return text.casefold().removeprefix("ultra hd ")


def plain_title(title: str) -> str:
    """A title without what people write differently: accents, signs, the article."""
    spaced = unicodedata.normalize("NFKD", title.casefold().replace("&", " and "))
    words = "".join(
        sign if sign.isalnum() else "" if sign in "'\u2019" or unicodedata.combining(sign) else " " for sign in spaced
    )
    plain = words.split()
    return " ".join(plain[1:] if len(plain) > 1 and plain[0] in {"the", "a", "an"} else plain)


def _same_rate(one: float, other: float) -> bool:
    # 23.976, 23.98 and 24 are one rate: a film of two hours ends seven seconds apart, and mostly it is only rounding.
    return abs(one - other) <= _SAME_RATE or {round(one), round(other)} == {24}


# --- what does not -----------------------------------------------------------------------------------------------------


def _penalty(candidate: Candidate, media: Media, wanted: Wanted) -> int:
    points = 0
    if media.fps and candidate.fps and not _same_rate(media.fps, candidate.fps):
        points += OTHER_FRAME_RATE
    if candidate.hearing_impaired and not wanted.hearing_impaired:
        points += UNWANTED_HEARING_IMPAIRED
    return points


def _unusable(candidate: Candidate, media: Media, wanted: Wanted, policy: ScoringPolicy) -> str:
    if (candidate.provider, candidate.file_id) in policy.denied:
        return "somebody marked it as bad"
    if not policy.same_languages.satisfies(candidate.language, wanted.language):
        return f"it is in {candidate.language}, not in {wanted.language}"
    if wanted.forced != candidate.forced:
        return (
            "it has all the dialogue, not the foreign parts alone"
            if wanted.forced
            else "it has the foreign parts alone"
        )
    if wanted.hearing_impaired and not candidate.hearing_impaired:
        return "it is not for the hearing impaired"
    if candidate.parts > 1:
        return f"it is split into {candidate.parts} files"
    return _other_title(candidate, media)


def _other_title(candidate: Candidate, media: Media) -> str:
    video, offered = media.release, candidate.release
    if video.kind is not offered.kind:
        return f"it is for {_an(offered.kind)}, and the video is {_an(video.kind)}"
    if video.kind is Kind.MOVIE:
        ids = _ids(candidate, media)
        return "it is for another film: its id differs" if ids and not any(ids.values()) else ""
    if video.season is not None and offered.season is not None and video.season != offered.season:
        return f"it is for season {offered.season}, not for season {video.season}"
    if video.episodes and offered.episodes and not set(video.episodes) & set(offered.episodes):
        return f"it is for episode {_list(offered.episodes)}, not for episode {_list(video.episodes)}"
    return ""


def _too_little(candidate: Candidate, media: Media, points: int, policy: ScoringPolicy, doubt: str) -> str:
    least = policy.least_for(media.release.kind)
    if points >= least:
        return ""
    if candidate.machine_translated and policy.most_for_machines < least:
        return f"a machine translated it: that counts {policy.most_for_machines} at most, and {least} are needed"
    reason = f"it scores {points}, and {least} are needed"
    return f"{reason}; its hash is not trusted, because {doubt}" if doubt else reason


def _doubt(candidate: Candidate, media: Media) -> str:
    """Why the hash is not believed: people upload subtitles under the hash of whatever lies beside them."""
    video, offered = media.release, candidate.release
    if other := _other_title(candidate, media):
        return other
    if _differ(video.source, offered.source):
        return f"it was made for {offered.source}, and the video is from {video.source}"
    if video.kind is Kind.EPISODE:
        known = video.title and offered.title and not any(_ids(candidate, media).values())
        return (
            f"it is for {offered.title!r}" if known and plain_title(video.title) != plain_title(offered.title) else ""
        )
    if _differ(video.video_codec, offered.video_codec):
        return f"it was made for {offered.video_codec}, and the video is in {video.video_codec}"
    return ""


def _differ(ours: str, theirs: str) -> bool:
    return bool(ours and theirs) and not _same(ours, theirs)


def _an(kind: Kind) -> str:
    return "an episode" if kind is Kind.EPISODE else "a film"


def _list(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
