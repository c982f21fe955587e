"""Where a store may live: WAL needs shared memory and locks that network file systems do not have."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.errors import ConfigurationError

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(
    r"^(nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|coda|glusterfs|lustre|gpfs|beegfs|orangefs|ncpfs|vboxsf|vmhgfs|prl_fs"
    r"|fuse\.(sshfs|s3fs|rclone|gcsfuse|glusterfs|goofys|cephfs|ceph|juicefs|davfs2?|curlftpfs|vmhgfs-fuse|blobfuse2?))$"
)


def refuse_network_file_system(path: Path, *, allowed: bool = False) -> None:
    """Raise ``ConfigurationError`` when the folder of a path is on a network file system."""
    if allowed or not _MOUNTS.exists():
        return
    kind = file_system_of(path.parent.resolve(), _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    if _NETWORK.match(kind):
        raise ConfigurationError(
            f"{path} is on a network file system ({kind}), whose locks SQLite cannot trust: the store may be corrupted. "
            "Put it on a local disk, or allow it in the settings if you know that only one machine opens it"
        )


def file_system_of(folder: Path, mounts: str) -> str:
    """The type of the file system that holds a folder, from the text of ``mountinfo``; empty when unknown."""
    best: tuple[int, str] = (-1, "")
    for line in mounts.splitlines():
        fields = line.split(" ")
        if " - " not in line or len(fields) < 5:
            continue
        mounted = Path(_unescape(fields[4]))
        kind = line.split(" - ", 1)[1].split(" ")[0]
        # Of several mounts at one place the last is seen.
        if folder.is_relative_to(mounted) and len(mounted.parts) >= best[0]:
            best = (len(mounted.parts), kind)
    return best[1]


def _unescape(text: str) -> str:
    return re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), text)
