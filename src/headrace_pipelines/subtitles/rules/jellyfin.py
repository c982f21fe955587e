"""Webhooks of Jellyfin: as its plugin sends them, and in the shape that get-my-subtitle asked its users to configure.

The plugin has no variable for the path. Whoever gets a notice without one asks the server for it.
"""

from __future__ import annotations

from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.releases import imdb_number
from headrace_pipelines.subtitles.rules.webhook import (
    Added,
    Ignored,
    Notice,
    Payload,
    PayloadRefused,
    TriedOut,
    number,
    text,
)

_SENDER = "Jellyfin"
_KINDS = {"movie": Kind.MOVIE, "episode": Kind.EPISODE}
_OURS = {"library.item.added", "library.item.updated"}


def parse_jellyfin(payload: Payload) -> Notice:
    """What was added, or why nothing follows from it; raises ``PayloadRefused``."""
    if "NotificationType" in payload:
        return _native(payload)
    if "event" in payload:
        return _templated(payload)
    raise PayloadRefused(
        _SENDER, "it has neither NotificationType nor event. Tick 'Send All Properties' in the webhook plugin"
    )


def _native(payload: Payload) -> Notice:
    notification = text(payload, "NotificationType")
    if notification == "GenericUpdateNotification" or notification.lower() == "test":
        return TriedOut()
    if notification != "ItemAdded":
        return Ignored(reason=f"{notification} adds no video")
    kind = _KINDS.get(text(payload, "ItemType").lower())
    if kind is None:
        return Ignored(
            reason=f"{text(payload, 'ItemType') or 'an item without a type'} is neither a film nor an episode"
        )
    item_id = text(payload, "ItemId")
    if not item_id:
        raise PayloadRefused(_SENDER, "ItemAdded without ItemId, so nobody can ask which file it is")
    episode, last = number(payload, "EpisodeNumber"), number(payload, "EpisodeNumberEnd")
    return Added(
        kind=kind,
        name=text(payload, "Name"),
        path=text(payload, "Path") or text(payload, "ItemPath") or None,
        item_id=item_id,
        year=number(payload, "Year"),
        series=text(payload, "SeriesName"),
        season=number(payload, "SeasonNumber"),
        episodes=tuple(range(episode, max(episode, last or 0) + 1)) if episode is not None else (),
        imdb_id=imdb_number(text(payload, "Provider_imdb")),
        tmdb_id=number(payload, "Provider_tmdb"),
    )


def _templated(payload: Payload) -> Notice:
    event = text(payload, "event")
    if event not in _OURS:
        return Ignored(reason=f"{event} adds no video")
    kind = _KINDS.get(text(payload, "item_type").lower())
    if kind is None:
        return Ignored(
            reason=f"{text(payload, 'item_type') or 'an item without a type'} is neither a film nor an episode"
        )
    path, item_id = text(payload, "item_path") or text(payload, "video_url"), text(payload, "item_id")
    if not path and not item_id:
        raise PayloadRefused(_SENDER, f"{event} has neither item_path nor item_id, so nobody can tell which file it is")
    return Added(kind=kind, name=text(payload, "item_name"), path=path or None, item_id=item_id or None)
