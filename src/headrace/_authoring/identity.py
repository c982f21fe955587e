"""Human-readable run ids: templates over the arguments of a flow."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from headrace.errors import DefinitionError, ValueRefused

MAX_ID = 255
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # nothing that a person could confuse when reading aloud


def token(number: int, length: int = 8) -> str:
    """A short readable text for a large random number."""
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


def check_id(run_id: str) -> str:
    if not run_id or len(run_id) > MAX_ID or not run_id.isprintable() or run_id != run_id.strip():
        raise ValueRefused(
            f"{run_id[:80]!r} cannot be a run id: use 1 to {MAX_ID} printable characters without spaces at the ends"
        )
    return run_id


class IdTemplate:
    """``ingest-{day:%d_%m_%Y}``: the text of an id, with fields that name parameters."""

    def __init__(self, template: str, parameters: tuple[str, ...], *, where: str) -> None:
        self.template = template
        self._where = where
        for field in self._roots():
            if field not in parameters:
                known = ", ".join(parameters) or "none"
                raise DefinitionError(
                    f"{where}: the id template {template!r} names {field!r}, which is no parameter. Parameters: {known}"
                )

    def _roots(self) -> list[str]:
        try:
            parsed = list(string.Formatter().parse(self.template))
        except ValueError as error:
            raise DefinitionError(
                f"{self._where}: the id template {self.template!r} cannot be read: {error}"
            ) from error
        fields = [name for _, name, _, _ in parsed if name is not None]
        return [name.split(".")[0].split("[")[0] for name in fields]

    def render(self, arguments: Mapping[str, Any]) -> str:
        try:
            rendered = self.template.format_map(arguments)
        except (AttributeError, KeyError, IndexError, ValueError, TypeError) as error:
            raise ValueRefused(
                f"{self._where}: the id template {self.template!r} cannot be filled: {error!r}"
            ) from error
        return check_id(rendered)
