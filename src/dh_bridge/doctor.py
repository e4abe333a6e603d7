"""What this installation has and lacks: versions, extras, Java, settings, connections; nothing here ever raises."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge import bundled
from dh_bridge.datahub.profiles import profile
from dh_bridge.delivery import open_destination, rest_area
from dh_bridge.errors import BridgeError
from dh_bridge.settings.loading import examine
from dh_bridge.sinks.abilities import can_read
from dh_bridge.sinks.base import METADATA_SERVICE
from dh_bridge.sinks.rest.options import address
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import Flag

OK, MISSING, WRONG = "ok", "missing", "wrong"

_DISTRIBUTION = "dh-bridge"
_REQUIREMENT = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?[^;]*(?:;.*?\bextra == ['\"](?P<extra>[^'\"]+)['\"])?\s*$"
)
_JAVA_VERSION = re.compile(r'version "(?P<version>[^"]+)"')

#: What each extra is for; those that are not here (all, dev) only gather others.
_EXTRAS = {
    "datahub": "use acryl-datahub's emitters and recipes",
    "kafka": "deliver to and read from Kafka",
    "spark": "translate with PySpark",
    "server": "take events over HTTP",
    "airflow": "run inside Airflow",
    "openlineage": "send from OpenLineage's Python client",
    "great-expectations": "tell checkpoints of Great Expectations",
}


_EVERYWHERE = "urn:li:corpuser:datahub"


class Finding(NamedTuple):
    """One line of the doctor: area, subject, ``ok | missing | wrong``, what was found, and what to do about it."""

    area: str
    subject: str
    status: str
    found: str
    remedy: str = ""


def findings(config: Path | str | None = None, *, flags: Sequence[Flag] = (), connect: bool = False) -> list[Finding]:
    """Examine the installation; ``wrong`` is what keeps the bridge from working, ``missing`` what somebody may want.

    ``flags`` are settings of the command line. ``connect`` asks the configured server, too; without it nothing leaves this
    machine.
    """
    rooms = (
        _versions,
        _bundled,
        _extras,
        _java,
        partial(_settings, config, flags),
        partial(_connections, config, flags, connect=connect),
    )
    return [finding for room in rooms for finding in _visited(room)]


def _visited(room: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(room())
    except Exception as error:  # noqa: BLE001 - a doctor who faints helps nobody: the fault is a finding
        return [Finding("doctor", "fault", WRONG, f"{type(error).__name__}: {error}", "please report this")]


def _versions() -> Iterator[Finding]:
    yield Finding("versions", "dh-bridge", OK, _version(_DISTRIBUTION) or "not installed (a plain checkout)")
    python = platform.python_version()
    known = sys.version_info >= (3, 10)
    yield Finding("versions", "Python", OK if known else WRONG, python, "" if known else "use Python 3.10 or newer")
    yield Finding("versions", "SQLite", *_sqlite())
    for name, extra in _requirements():
        if extra is None:
            version = _version(name)
            yield Finding(
                "versions",
                name,
                OK if version else WRONG,
                version or "absent",
                "" if version else f"pip install {name}",
            )


def _sqlite() -> tuple[str, str, str]:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= (3, 24):
        return OK, version, ""
    return WRONG, version, "the catalogue needs SQLite 3.24 (upsert): use a newer Python"


def _bundled() -> Iterator[Finding]:
    for subject, folder, pattern in (
        ("mappings", bundled.MAPPINGS, "*.yaml"),
        ("schemas", bundled.AVRO_SCHEMAS, "*.avsc"),
    ):
        number = sum(1 for _ in folder.rglob(pattern)) if folder.is_dir() else 0
        remedy = "" if number else "install the package again: pip install --force-reinstall dh-bridge"
        yield Finding("files", subject, OK if number else WRONG, f"{number} files in {folder}", remedy)


def _extras() -> Iterator[Finding]:
    requirements = list(_requirements())
    for extra, purpose in _EXTRAS.items():
        needed = {name: _version(name) for name, of in requirements if of == extra}
        lacking = [name for name, version in needed.items() if version is None]
        if lacking or not requirements:
            remedy = f"to {purpose}: pip install 'dh-bridge[{extra}]'"
            yield Finding("extras", extra, MISSING, f"absent: {', '.join(lacking) or 'all of it'}", remedy)
        else:
            found = ", ".join(f"{name} {version}" for name, version in needed.items())
            yield Finding("extras", extra, OK, found or "nothing more is needed")


def _java() -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        where = f"no java in JAVA_HOME={home}" if home else "no java on the PATH"
        yield Finding("java", "Java", MISSING, where, "only Spark needs it: install a JRE 17, or set JAVA_HOME")
        return
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603 - the user's own java
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("java", "Java", MISSING, f"{java} does not run: {error}", "only Spark needs it: install a JRE 17")
        return
    version = _JAVA_VERSION.search(ran.stderr + ran.stdout)
    yield Finding("java", "Java", OK, f"{version['version'] if version else 'unknown version'} ({java})")


def _settings(config: Path | str | None, flags: Sequence[Flag]) -> Iterator[Finding]:
    loaded, problems = examine(config, flags=flags)
    for problem in problems:
        yield Finding("settings", problem.where or "settings", WRONG, problem.what, problem.now)
    if loaded is None:
        return
    yield Finding("settings", "file", OK, str(loaded.file) if loaded.file else "none; the defaults hold")
    yield from _profile(loaded.settings.profile)
    try:
        Options(loaded.settings.model_copy(update={"profile": None}))
    except BridgeError as error:
        yield Finding("settings", error.where or "settings", WRONG, error.what, error.now)
        return
    if loaded.settings.mappings is not None:
        yield _own_mappings(loaded.settings.mappings)


def _own_mappings(folder: Path) -> Finding:
    """Count the files that take part: those of the folders that ours have, too."""
    number = sum(1 for name in bundled.FOLDERS for _ in (folder / name).glob("*.yaml"))
    remedy = "" if number else f"files are looked for in its folders {', '.join(bundled.FOLDERS)}"
    return Finding("settings", "mappings", OK if number else MISSING, f"{number} files in {folder}", remedy)


def _connections(config: Path | str | None, flags: Sequence[Flag], *, connect: bool) -> Iterator[Finding]:
    loaded, _ = examine(config, flags=flags)
    if loaded is None:
        return
    try:
        area = rest_area(loaded.settings, "", os.environ)
        server = area["server"] and address(area["server"], area["named_by"])
    except BridgeError as error:
        yield Finding("connections", "rest", WRONG, error.fault, error.now)
        return
    if server is None:
        found = "none configured: emit writes to files and catalogues"
        yield Finding("connections", "servers", OK, found, "rest: set DATAHUB_GMS_URL or rest.server")
    elif not connect:
        yield Finding("connections", "rest", OK, server, "dh-bridge doctor --connect asks it")
    else:
        yield _asked(loaded.settings, server)


def _asked(settings: Settings, server: str) -> Finding:
    """Ask the server who it is, and read an entity that every server has: that needs the token."""
    try:
        destination = open_destination(METADATA_SERVICE, settings.model_copy(update={"profile": None}))
        with destination.sink as sink:
            if can_read(sink):
                sink.read({_EVERYWHERE: ["corpUserKey"]})
    except BridgeError as error:
        return Finding("connections", "rest", WRONG, error.fault, error.now)
    version = destination.version or "of an unknown version"
    chosen = profile(settings.profile or destination.settings.profile).name
    return Finding("connections", "rest", OK, f"{server}: DataHub {version}, profile {chosen}")


def _profile(name: str | None) -> Iterator[Finding]:
    try:
        chosen = profile(name).name
    except BridgeError as error:
        yield Finding("settings", "profile", WRONG, error.what, error.now)
        return
    remedy = "" if name else "if your server is older and cannot be asked, set profile to its version, such as 1.4"
    yield Finding(
        "settings", "profile", OK, f"DataHub {chosen}" + ("" if name else " (the newest: none is set)"), remedy
    )


def _requirements() -> Iterator[tuple[str, str | None]]:
    """Yield the requirements of our own distribution, each with the extra it belongs to (None: the core)."""
    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match and match["name"].lower() != _DISTRIBUTION:
            yield match["name"], match["extra"]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
