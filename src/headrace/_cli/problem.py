"""How a command ends that could not do what was asked: one or two lines, and an exit code."""

from __future__ import annotations

USAGE = 2
PARTIAL = 3
NOTHING = 4
INTERRUPTED = 130


class Problem(Exception):
    """What happened, why, and what to do next."""

    def __init__(self, message: str, *, code: str, hint: str = "", exit_code: int = NOTHING) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.exit_code = exit_code


class WrongUse(Problem):
    """The command line, the environment or the loaded code is wrong."""

    def __init__(self, message: str, *, code: str = "usage", hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint, exit_code=USAGE)
