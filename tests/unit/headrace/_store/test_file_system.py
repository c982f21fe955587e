from pathlib import Path

import pytest

from headrace._store import file_system
from headrace._store.file_system import file_system_of, refuse_network_file_system
from headrace.errors import ConfigurationError

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / /data rw - nfs4 server:/data rw
31 30 254:1 / /data/local rw master:1 - xfs /dev/b rw
32 22 0:41 / /mnt/my\040share rw - cifs //server/share rw
33 22 0:42 / /over rw - ext4 /dev/c rw
34 33 0:43 / /over rw - fuse.sshfs me@server: rw
"""


@pytest.mark.parametrize(
    "folder, kind",
    [
        ("/srv", "ext4"),
        ("/data/ada", "nfs4"),
        ("/datawork", "ext4"),
        ("/data/local/ada", "xfs"),
        ("/mnt/my share/x", "cifs"),
        ("/over/x", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_counts(folder: str, kind: str) -> None:
    """A local disk below a network home is fine, and the other way round is not."""
    assert file_system_of(Path(folder), MOUNTS) == kind


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 22 0:40 / {tmp_path} rw - nfs4 server:/x rw\n")
    monkeypatch.setattr(file_system, "_MOUNTS", mounts)
    return tmp_path / "store.db"


def test_network_file_systems_are_refused(network: Path) -> None:
    """Their locks do not hold: two machines would own one file."""
    with pytest.raises(ConfigurationError, match=r"network file system \(nfs4\)"):
        refuse_network_file_system(network)


def test_network_file_systems_may_be_allowed(network: Path) -> None:
    """Somebody may know better."""
    refuse_network_file_system(network, allowed=True)


def test_local_file_systems_are_welcome(tmp_path: Path) -> None:
    """A check that refused too much would stop every user."""
    refuse_network_file_system(tmp_path / "store.db")
