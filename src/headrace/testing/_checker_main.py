"""The second process of the replay check: it finds flows by name, replays runs and says where they differ.

Requests and answers are lines of JSON on the pipes that this process was born with. Whatever imported modules print goes to stderr.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import IO, Any


def serve() -> None:
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _answer_all(requests, answers)


def _answer_all(requests: IO[str], answers: IO[str]) -> None:
    for line in requests:
        try:
            answer = _check(json.loads(line))
        except Exception as error:  # noqa: BLE001 - the asking process decides what a failed check means
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _check(request: dict[str, Any]) -> dict[str, Any]:
    sys.path[:] = request["path"]
    from dataclasses import asdict

    from headrace._authoring import guard
    from headrace._authoring.pipeline import Registry
    from headrace._base.vault import Vault
    from headrace._store.location import locate
    from headrace._store.opening import open_reader
    from headrace.testing._replay import differences

    guard.trust(tuple(request["trusted"]))
    flows: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for full, where in request["flows"].items():
        try:
            flows[full] = _find(where)
        except Exception as error:  # noqa: BLE001 - importing runs any code of the user
            unknown[full] = f"{type(error).__name__}: {error}"
    registry = Registry(MappingProxyType(flows), MappingProxyType({}), catalogue=_catalogue(request["declared"]))
    store = locate(request["store"], schema=request["schema"])
    with open_reader(store, vault=Vault(request["keys"])) as reader:
        found = reader.read(
            lambda reader: list(differences(reader, registry, strict=request["strict"], every=request["every"]))
        )
    return {"differences": [asdict(item) for item in found], "unknown": unknown}


def _catalogue(declared: list[dict[str, str]]) -> Any:
    from headrace._events.schema import EventType
    from headrace._jobs.catalogue import Catalogue

    items = [getattr(_module(where["module"], where["file"]), where["name"]) for where in declared]
    types = [item for item in items if isinstance(item, EventType)]
    return Catalogue(types, [item for item in items if not isinstance(item, EventType)])


def _find(where: dict[str, Any]) -> Any:
    from headrace._authoring.flow import Flow

    found: Any = _module(where["module"], where["file"])
    for part in where["qualname"].split("."):
        found = getattr(found, part)
    if not isinstance(found, Flow):
        raise LookupError(f"{where['module']}.{where['qualname']} is no flow there")
    if found.fn.__code__.co_firstlineno != where["line"]:
        raise LookupError(f"{where['module']}.{where['qualname']} is another flow there")
    return found


def _module(name: str, file: str | None) -> ModuleType:
    module: ModuleType | None
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        # Pytest gives some test modules names that nobody can import.
        module = sys.modules.get(name)
    if module is not None and (file is None or _same(module, file)):
        return module
    if file is None:
        raise ModuleNotFoundError(f"module {name!r} has no file to import")
    return _load(name, file)


def _same(module: ModuleType, file: str) -> bool:
    known = getattr(module, "__file__", None)
    return known is not None and Path(known).samefile(file)


def _load(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


if __name__ == "__main__":
    serve()
