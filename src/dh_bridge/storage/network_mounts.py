"""Network file systems: SQLite's write-ahead log needs memory that all processes of a file share, which only a local disk gives.

Source: https://sqlite.org/wal.html, "All processes using a database must be on the same host computer".
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_NETWORK_TYPES = re.compile(
    r"nfs4?|cifs|smb[23]?|smbfs|9p|afs|ceph|gfs2?|glusterfs|lustre|ocfs2|beegfs|gpfs|ncpfs|davfs"
    r"|fuse\.(sshfs|glusterfs|cephfs|s3fs|goofys|gcsfuse|blobfuse2?|rclone|juicefs|mount-s3|davfs2?)"
)
_MOUNTS = Path("/proc/self/mounts")


def network_type(path: str | Path, mounts: str | None = None) -> str | None:
    r"""Return the type of the network file system that has a file, such as ``nfs4``.

    Args:
        path: The file; it need not exist.
        mounts: The mounts in the form of ``/proc/self/mounts``; None: those of this process, which only Linux has.

    Returns:
        The type; None for a local file system, or if the mounts are unknown.

    Example:
        >>> network_type("/data/shop/ledger.db", "/dev/sda1 / ext4 rw 0 0\nnas:/shop /data/shop nfs4 rw 0 0\n")
        'nfs4'
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    file_path = os.path.realpath(path)
    matches = [
        (len(mount_point), position, file_system)
        for position, (mount_point, file_system) in enumerate(_mount_points(mounts))
        if file_path == mount_point or file_path.startswith(mount_point.rstrip("/") + "/")
    ]
    file_system = max(matches)[2] if matches else ""  # of mounts on one folder, the last one is visible
    return file_system if _NETWORK_TYPES.fullmatch(file_system) else None


def _mount_points(mounts: str) -> list[tuple[str, str]]:
    """Return the mount points and the types of their file systems; spaces are octal escapes in the file."""
    rows = [line.split(" ") for line in mounts.splitlines()]
    return [
        (re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), row[1]), row[2]) for row in rows if len(row) > 2
    ]


def network_warning(path: str | Path) -> str | None:
    """Return a warning if a catalogue or ledger is on a network file system; else None."""
    file_system = network_type(path)
    if file_system is None:
        return None
    return (
        f"{path}: the file system is {file_system}, a network file system: processes on different hosts would damage the file"
        " (move it to a local disk, and use one host for each ledger)"
    )
