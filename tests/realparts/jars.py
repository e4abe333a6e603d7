"""Jars from Maven Central, pinned, kept in ``.jars/`` of the project: by ``mvn`` where there is one, else by pyspark's Ivy.

Versions are named one by one: lists of versions have gaps on mirrors, so ranges and ``RELEASE`` would not be the same twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from realparts.java import java

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(__file__).resolve().parents[2] / ".jars"


class NoJarsError(Exception):
    """The jars could not be fetched: what Maven or Ivy said."""


@dataclass(frozen=True)
class Jars:
    """What stands in one folder: ``group:name:version`` each, with all they need unless ``alone``.

    ``archive``: the ending and, if it has one, the classifier of a thing that is no jar, such as ``("tar.gz", "all")``; it is unpacked.
    """

    name: str
    coordinates: tuple[str, ...]
    alone: bool = False
    archive: tuple[str, ...] | None = None
    without: tuple[str, ...] = field(default=())

    @property
    def folder(self) -> Path:
        """Return the folder of these very coordinates."""
        return HOME / f"{self.name}-{hashlib.sha256(repr(self).encode()).hexdigest()[:8]}"

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """Return (group, name, version) of each."""
        return [tuple(one.split(":")) for one in self.coordinates]


KAFKA = Jars("kafka", ("org.apache.kafka:kafka_2.13:4.3.1", "org.slf4j:slf4j-simple:1.7.36"))
REGISTRY = Jars(
    "registry", ("io.apicurio:apicurio-registry-app:3.0.9",), alone=True, archive=("tar.gz", "all")
)  # later 3.x need Java 21

SPARK43_KAFKA = Jars(
    "spark-kafka-4",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.2.0",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
    alone=True,
)  # the rest is among pyspark's own; there is none of 4.3
SPARK41_KAFKA = Jars(
    "spark-kafka-4.1",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.1",
        "org.apache.kafka:kafka-clients:3.9.1",
        "org.apache.commons:commons-pool2:2.12.1",
    ),
    alone=True,
)
SPARK35_KAFKA = Jars(
    "spark-kafka-3.5",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7",
        "org.apache.kafka:kafka-clients:3.4.1",
        "org.apache.commons:commons-pool2:2.11.1",
    ),
    alone=True,
)
_PYSPARK = version("pyspark").rpartition(".")[0] if find_spec("pyspark") else ""
SPARK_KAFKA = {"3.5": SPARK35_KAFKA, "4.1": SPARK41_KAFKA}.get(_PYSPARK, SPARK43_KAFKA)
"""Of the PySpark that is here; constraints.txt pins 4.1."""
SPARK35_DELTA = Jars(
    "delta-3.5", ("io.delta:delta-spark_2.12:3.3.2", "io.delta:delta-storage:3.3.2"), alone=True
)  # the rest is among pyspark's own
SPARK35_ICEBERG = Jars(
    "iceberg-3.5", ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",), alone=True
)  # has all that it needs
SPARK41_DELTA = Jars("delta-4.1", ("io.delta:delta-spark_4.1_2.13:4.4.0", "io.delta:delta-storage:4.4.0"), alone=True)
SPARK41_ICEBERG = Jars("iceberg-4.1", ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",), alone=True)
SPARK35_LISTENER = Jars("spark-listener-3.5", ("io.openlineage:openlineage-spark_2.12:1.53.0",), alone=True)


def fetched(jars: Jars, *, mvn: str | None = shutil.which("mvn")) -> Path:
    """Return the folder with these jars, fetched when it is not there yet; a NoJarsError says why they are not to be had.

    Several processes may ask at once: one fetches, the others wait.
    """
    if not jars.folder.exists():
        with _door(HOME):
            if not jars.folder.exists():
                _fetch(jars, mvn)
    return jars.folder


def _fetch(jars: Jars, mvn: str | None) -> None:
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=HOME) as name:
        work, lib = Path(name), Path(name) / "lib"
        lib.mkdir()
        for command in _by_maven(jars, work, lib, mvn) if mvn else [_by_ivy(jars, work, lib)]:
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=work, timeout=540)
            if done.returncode:
                raise NoJarsError(f"{command[0]} fetched no {jars.name}: {(done.stdout + done.stderr)[-2000:]}")
        found = sorted(lib.iterdir())
        if len(found) < len(jars.coordinates):
            raise NoJarsError(f"{jars.name}: asked for {jars.coordinates}, got {[path.name for path in found]}")
        if jars.archive:
            _unpack(found, lib)
        lib.rename(jars.folder)


def _unpack(archives: list[Path], folder: Path) -> None:
    for archive in archives:
        with tarfile.open(archive) as tar:
            safe = {"filter": "data"} if sys.version_info >= (3, 12) else {}
            tar.extractall(folder, **safe)  # noqa: S202 - a pinned archive of Maven Central
        archive.unlink()


def _by_maven(jars: Jars, work: Path, lib: Path, mvn: str) -> list[list[str]]:
    maven = [mvn, "-B", "-q", f"-DoutputDirectory={lib}"]
    if jars.archive:  # asks for no POM: that of a parent may be missing
        kind = ":".join(jars.archive)
        return [[*maven, "dependency:copy", f"-Dartifact={one}:{kind}"] for one in jars.coordinates]
    rows = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{_exclusions(jars)}</dependency>"
        for group, name, version in jars.parts
    )
    (work / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>x</groupId><artifactId>x</artifactId><version>1</version><dependencies>{rows}</dependencies></project>",
        encoding="utf-8",
    )
    return [[*maven, "dependency:copy-dependencies", "-DincludeScope=runtime"]]


def _exclusions(jars: Jars) -> str:
    rows = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>{name}</artifactId></exclusion>"
        for group, name in (one.split(":") for one in (("*:*",) if jars.alone else jars.without))
    )
    return f"<exclusions>{rows}</exclusions>" if rows else ""


def _by_ivy(jars: Jars, work: Path, lib: Path) -> list[str]:
    """Return the command of Ivy alone, without Spark: its jar is one of pyspark's."""
    ending, *classifiers = jars.archive or ("",)
    kind = (
        " ".join([f'type="{ending}" ext="{ending}"', *(f'm:classifier="{one}"' for one in classifiers)])
        if ending
        else ""
    )
    rows = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" transitive="{str(not jars.alone).lower()}"'
        f' conf="default->{"default" if jars.alone else "compile,runtime,master"}">'
        + (f'<artifact name="{name}" {kind}/>' if kind else "")
        + "</dependency>"
        for group, name, version in jars.parts
    )
    rows += "".join(
        f'<exclude org="{group}" module="{name}"/>' for group, name in (one.split(":") for one in jars.without)
    )
    (work / "ivy.xml").write_text(
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="x" module="x"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{rows}</dependencies></ivy-module>',
        encoding="utf-8",
    )
    (work / "settings.xml").write_text(
        '<ivysettings><settings defaultResolver="central"/><resolvers>'
        f'<ibiblio name="central" m2compatible="true" usepoms="{str(not jars.alone).lower()}"/>'
        "</resolvers></ivysettings>",  # only Central: no half-filled ~/.m2
        encoding="utf-8",
    )
    ivy = [java(), "-jar", str(_ivy()), "-warn", "-settings", "settings.xml", "-cache", str(HOME / ".ivy")]
    ivy += ["-ivy", "ivy.xml", "-types", "jar", "bundle", *(jars.archive or ())[:1]]
    return [*ivy, "-retrieve", f"{lib}/[artifact]-[revision].[ext]"]


def _ivy() -> Path:
    spec = find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not found:
        raise NoJarsError("neither mvn nor pyspark (which brings Ivy) is here; pip install pyspark")
    return found[-1]


@contextmanager
def _door(folder: Path) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
