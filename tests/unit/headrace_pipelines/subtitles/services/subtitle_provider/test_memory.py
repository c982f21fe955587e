from __future__ import annotations

from headrace_pipelines.subtitles.services.subtitle_provider.memory import MemoryOfThisProcess, Remembered


async def test_it_remembers_each_provider_by_itself() -> None:
    """The quota of one is not that of another."""
    memory = MemoryOfThisProcess()
    await memory.save("one", Remembered(quota_remaining=3))

    assert await memory.load("one") == Remembered(quota_remaining=3)
    assert await memory.load("other") is None


def test_a_token_is_not_shown() -> None:
    """Values end up in logs and in tracebacks."""
    assert "secret" not in repr(Remembered(token="secret"))
