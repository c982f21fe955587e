"""A language model on this machine, which does what it is told."""

from headrace_pipelines.services.language_model.stand_in.model import LocalLanguageModel
from headrace_pipelines.services.language_model.stand_in.pseudo_locale import pseudo_restore, pseudo_translate
from headrace_pipelines.services.language_model.stand_in.question import Question
from headrace_pipelines.services.language_model.stand_in.trouble import Trouble

__all__ = ["LocalLanguageModel", "Question", "Trouble", "pseudo_restore", "pseudo_translate"]
