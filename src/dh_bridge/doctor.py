"""The state of this installation: versions, extras, Java, settings, connections. No function here raises an error."""

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
from dh_bridge.delivery import open_target, rest_options
from dh_bridge.errors import INTERNAL_ERROR, BridgeError
from dh_bridge.options import Options
from dh_bridge.settings.loading import examine
from dh_bridge.sinks.abilities import can_read
from dh_bridge.sinks.base import METADATA_SERVICE_TARGET
from dh_bridge.sinks.rest.options import server_url

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

#: The purpose of each extra; extras that are not listed (all, dev) only combine others.
_EXTRAS = {
    "datahub": "use acryl-datahub's emitters and recipes",
    "kafka": "deliver to and read from Kafka",
    "spark": "translate with PySpark",
    "server": "receive events over HTTP",
    "airflow": "run inside Airflow",
    "openlineage": "send from OpenLineage's Python client",
    "great-expectations": "report checkpoints of Great Expectations",
}


_PROBE_URN = "urn:li:corpuser:datahub"


class Diagnostic(NamedTuple):
    """One line of the doctor: area, subject, ``ok | missing | wrong``, the finding, and the remedy."""

    area: str
    subject: str
    status: str
    found: str
    remedy: str = ""


def diagnose(
    config: Path | str | None = None, *, flags: Sequence[Flag] = (), connect: bool = False
) -> list[Diagnostic]:
    """Examine the installation; ``wrong`` prevents the bridge from working, ``missing`` is optional.

    ``flags`` are settings of the command line. With ``connect`` the configured server is contacted; without it there is no network
    access.
    """
    checks = (
        _versions,
        _bundled_files,
        _extras,
        _java,
        partial(_settings, config, flags),
        partial(_connections, config, flags, connect=connect),
    )
    return [diagnostic for check in checks for diagnostic in _run_check(check)]


def _run_check(check: Callable[[], Iterator[Diagnostic]]) -> list[Diagnostic]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001 - the doctor must not fail: the error is a finding
        return [Diagnostic("doctor", "fault", WRONG, f"{type(error).__name__}: {error}", INTERNAL_ERROR)]


def _versions() -> Iterator[Diagnostic]:
    yield Diagnostic(
        "versions", "dh-bridge", OK, _version(_DISTRIBUTION) or "not installed: dh-bridge runs from a checkout"
    )
    python = platform.python_version()
    is_supported = sys.version_info >= (3, 10)
    yield Diagnostic(
        "versions", "Python", OK if is_supported else WRONG, python, "" if is_supported else "use Python 3.10 or newer"
    )
    yield Diagnostic("versions", "SQLite", *_sqlite())
    for name, extra in _requirements():
        if extra is None:
            version = _version(name)
            yield Diagnostic(
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
    return WRONG, version, "the catalogue requires SQLite 3.24 (upsert): use a newer Python"


def _bundled_files() -> Iterator[Diagnostic]:
    for subject, folder, pattern in (
        ("mappings", bundled.MAPPINGS, "*.yaml"),
        ("schemas", bundled.AVRO_SCHEMAS, "*.avsc"),
    ):
        file_count = sum(1 for _ in folder.rglob(pattern)) if folder.is_dir() else 0
        remedy = "" if file_count else "install the package again: pip install --force-reinstall dh-bridge"
        yield Diagnostic("files", subject, OK if file_count else WRONG, f"{file_count} files in {folder}", remedy)


def _extras() -> Iterator[Diagnostic]:
    requirements = list(_requirements())
    for extra, purpose in _EXTRAS.items():
        versions = {name: _version(name) for name, required_extra in requirements if required_extra == extra}
        missing_names = [name for name, version in versions.items() if version is None]
        if missing_names or not requirements:
            remedy = f"to {purpose}: pip install 'dh-bridge[{extra}]'"
            yield Diagnostic(
                "extras", extra, MISSING, f"not installed: {', '.join(missing_names) or 'all of it'}", remedy
            )
        else:
            versions_text = ", ".join(f"{name} {version}" for name, version in versions.items())
            yield Diagnostic("extras", extra, OK, versions_text or "no further package is required")


def _java() -> Iterator[Diagnostic]:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        reason = f"no java in JAVA_HOME={home}" if home else "no java on the PATH"
        yield Diagnostic("java", "Java", MISSING, reason, "only Spark needs it: install a JRE 17, or set JAVA_HOME")
        return
    try:
        process = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603 - the user's own java
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Diagnostic(
            "java", "Java", MISSING, f"cannot run {java}: {error}", "only Spark needs it: install a JRE 17"
        )
        return
    version = _JAVA_VERSION.search(process.stderr + process.stdout)
    yield Diagnostic("java", "Java", OK, f"{version['version'] if version else 'unknown version'} ({java})")


def _settings(config: Path | str | None, flags: Sequence[Flag]) -> Iterator[Diagnostic]:
    loaded, problems = examine(config, flags=flags)
    for problem in problems:
        yield Diagnostic("settings", problem.location or "settings", WRONG, problem.problem, problem.remedy)
    if loaded is None:
        return
    yield Diagnostic("settings", "file", OK, str(loaded.file) if loaded.file else "none, the defaults apply")
    yield from _profile(loaded.settings.datahub_version)
    try:
        Options(loaded.settings.model_copy(update={"datahub_version": None}))
    except BridgeError as error:
        yield Diagnostic("settings", error.location or "settings", WRONG, error.problem, error.remedy)
        return
    if loaded.settings.mappings is not None:
        yield _user_mappings(loaded.settings.mappings)


def _user_mappings(folder: Path) -> Diagnostic:
    """Count the files that are used: those in folders that the bundled mappings have, too."""
    file_count = sum(1 for name in bundled.FOLDERS for _ in (folder / name).glob("*.yaml"))
    remedy = "" if file_count else f"move the files into its folders {', '.join(bundled.FOLDERS)}"
    return Diagnostic("settings", "mappings", OK if file_count else MISSING, f"{file_count} files in {folder}", remedy)


def _connections(config: Path | str | None, flags: Sequence[Flag], *, connect: bool) -> Iterator[Diagnostic]:
    loaded, _ = examine(config, flags=flags)
    if loaded is None:
        return
    try:
        area = rest_options(loaded.settings, "", os.environ)
        server = area["server"] and server_url(area["server"], area["named_by"])
    except BridgeError as error:
        yield Diagnostic("connections", "rest", WRONG, error.fault, error.remedy)
        return
    if server is None:
        description = "none configured: emit writes to files and catalogues"
        yield Diagnostic("connections", "servers", OK, description, "rest: set DATAHUB_GMS_URL or rest.server")
    elif not connect:
        yield Diagnostic("connections", "rest", OK, server, "run dh-bridge doctor --connect to test the connection")
    else:
        yield _check_server(loaded.settings, server)


def _check_server(settings: Settings, server: str) -> Diagnostic:
    """Ask the server for its version, and read an entity that every server has, which requires the token."""
    try:
        target = open_target(METADATA_SERVICE_TARGET, settings.model_copy(update={"datahub_version": None}))
        with target.sink as sink:
            if can_read(sink):
                sink.read({_PROBE_URN: ["corpUserKey"]})
    except BridgeError as error:
        return Diagnostic("connections", "rest", WRONG, error.fault, error.remedy)
    version = target.version or "(unknown version)"
    profile_name = profile(settings.datahub_version or target.settings.datahub_version).name
    return Diagnostic("connections", "rest", OK, f"{server}: DataHub {version}, written for DataHub {profile_name}")


def _profile(datahub_version: str | None) -> Iterator[Diagnostic]:
    try:
        profile_name = profile(datahub_version).name
    except BridgeError as error:
        yield Diagnostic("settings", "datahub_version", WRONG, error.problem, error.remedy)
        return
    remedy = (
        ""
        if datahub_version
        else "if your server is older and unreachable, set datahub_version to its version, such as 1.4"
    )
    yield Diagnostic(
        "settings",
        "datahub_version",
        OK,
        f"DataHub {profile_name}" + ("" if datahub_version else " (the newest, as none is set)"),
        remedy,
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
