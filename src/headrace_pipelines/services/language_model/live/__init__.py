"""Real language models, over HTTP."""

from headrace_pipelines.services.language_model.live.gemini import GeminiModel
from headrace_pipelines.services.language_model.live.ledger import Budget, Counters, Ledger, Price
from headrace_pipelines.services.language_model.live.limiter import Limits
from headrace_pipelines.services.language_model.live.openai import Dialect, Format, OpenAiModel

__all__ = [
    "Budget",
    "Counters",
    "Dialect",
    "Format",
    "GeminiModel",
    "Ledger",
    "Limits",
    "OpenAiModel",
    "Price",
]
