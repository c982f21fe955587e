"""What an import costs, told by what it loads: counting modules gives the same answer on a busy machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "apsw",
    "asyncio",
    "backports.zstd",
    "cryptography",
    "fastapi",
    "httpx2",
    "importlib.metadata",
    "jinja2",
    "psycopg",
    "pydantic",
    "rich",
    "starlette",
    "uvicorn",
}
LOADED = "import sys; loaded = set(sys.modules); {act}\nprint(*sorted(set(sys.modules) - loaded))"


def loaded_by(act: str) -> set[str]:
    command = [sys.executable, "-c", LOADED.format(act=act)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split())


@pytest.mark.parametrize("noun", [[], ["runs"], ["events"], ["jobs"], ["deadletters"]], ids="-".join)
def test_help_loads_nothing_heavy(noun: list[str]) -> None:
    """`headrace --help` answers in under 0.2 s, on which completion in the shell depends."""
    act = f"from headrace._cli.main import main\ntry: main([*{noun}, '--help'])\nexcept SystemExit: pass"

    assert loaded_by(act) & HEAVY == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Importing costs under 100 ms; a program that only names a flow need not pay for the server."""
    assert loaded_by("import headrace") & HEAVY == set()


def test_using_the_decorators_does_not_load_the_server() -> None:
    """A worker process that runs one step must not load web frameworks."""
    assert (
        loaded_by("from headrace import flow, step, Retry") & {"fastapi", "jinja2", "rich", "uvicorn", "click"} == set()
    )
