from __future__ import annotations

from headrace_pipelines.subtitles.services.player.port import ItemGone


def test_a_missing_item_names_itself() -> None:
    """The message is all that a job that failed shows."""
    assert str(ItemGone("jellyfin", "f2", "it is a Series")) == "jellyfin has no video 'f2': it is a Series"
