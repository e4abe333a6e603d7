"""Versions of DataHub: how they are written, and what DataHub Cloud's numbers mean.

A version is read as a tuple of integers. DataHub Cloud numbers its releases separately; `core_version` returns the version
of DataHub's core whose aspects a Cloud release understands.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){1,9})(?:[-+.]?[a-zA-Z].*)?", re.DOTALL).fullmatch

CLOUD_RELEASES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((2, 3, 5), "1.7.0.14"),
    ((2, 2, 0), "1.7.0.3"),
    ((2, 1), "1.6.0.15"),
    ((2, 0), "1.6.0.3"),
    ((1, 0, 1), "1.5.0.19"),
    ((0, 3, 17), "1.4.0.9"),
    ((0, 3, 16, 7), "1.4.0.4"),
    ((0, 3, 15, 6), "1.3.1"),
    ((0, 3, 11), "1.0"),
    ((0,), "0.15.0"),
)
"""First DataHub Cloud release -> the core version of acryl-datahub that its release notes name, newest first.

A release between two rows has the core of the lower row. 1.1.4 has the core of 1.0.1. No notes name one below 0.3.15.6:
acryl-datahub takes 0.3.11 for a core of 1.0.1 (`datahub.utilities.server_config_util`).
"""

_NEWER_CLOUD = "+cloud-"


def parse_version(text: str) -> tuple[int, ...] | None:
    """Return a version as a tuple of integers, for example ``(1, 4, 0, 3)`` for ``v1.4.0.3`` and ``1.4.0.3rc1``.

    Returns:
        None where the text is no version: fewer than two numbers, or a build without one (``v0.0.0-unknown-SNAPSHOT``).
    """
    match = _NUMBER(text.strip())
    if match is None:
        return None
    parts = tuple(map(int, match[1].split(".")))
    return parts if any(parts) else None


def core_version(text: str, *, cloud: bool) -> str | None:
    """Return the core version of a server that reports ``text`` as its version; None if it has no version.

    Args:
        text: the server's own name for its version (``versions["acryldata/datahub"].version`` of ``/config``).
        cloud: whether the server is DataHub Cloud (``datahub.serverEnv`` of ``/config`` is not ``core``).

    Returns:
        The core version. A Cloud release that is newer than those of `CLOUD_RELEASES` has the core of the newest one, and is appended
            to it: ``1.7.0.14+cloud-2.4.0``.
    """
    parts = parse_version(text)
    if parts is None:
        return None
    if cloud:
        core = next(core for first, core in CLOUD_RELEASES if parts >= first)
        newest = CLOUD_RELEASES[0][0]
        release = ".".join(map(str, parts))
        return f"{core}{_NEWER_CLOUD}{release}" if parts[: len(newest)] > newest else core
    return ".".join(map(str, parts))


def is_newer_cloud(version: str | None) -> bool:
    """Return whether a core version, as `core_version` returns it, is that of a Cloud release newer than those that are known."""
    return version is not None and _NEWER_CLOUD in version
