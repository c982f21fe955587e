"""The scan of detect-secrets without its hook, which wants a staged baseline and rewrites it."""

from __future__ import annotations

import sys

from detect_secrets.core import baseline
from detect_secrets.core.secrets_collection import SecretsCollection

BASELINE = ".secrets.baseline"


def main(names: list[str]) -> int:
    judged = baseline.load(baseline.load_from_file(BASELINE), BASELINE)
    found = SecretsCollection()
    for name in names:
        found.scan_file(name)
    new = list(found - judged)
    for name, secret in new:
        print(f"{name}:{secret.line_number}: {secret.type}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
