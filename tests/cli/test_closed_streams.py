"""Whoever starts a command may have closed its stdin, stdout or stderr: supervisors and callbacks do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "client.ndjson")


def ran(closed, *arguments):
    """Run the command in a process of its own with the streams ``closed`` (``<&- >&- 2>&-``)."""
    command = [sys.executable, "-c", "from dh_bridge.cli import main; main()", *arguments]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_needs_none_of_them_is_done(closed, tmp_path):
    assert ran(closed, "emit", EVENTS, "--to", "file:out.ndjson").returncode == 0
    assert (tmp_path / "out.ndjson").stat().st_size > 1000


TABLE = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.raw.orders,PROD)"


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "said"),
    [
        ("<&-", ("translate", "-"), 1, "stdin: it is closed (name a file)"),
        ("<&-", ("urn", "-"), 1, "stdin: it is closed (name a file)"),
        (">&-", ("translate", EVENTS), 2, "stdout is closed"),
        (">&-", ("emit", EVENTS, "--to", "file:-"), 2, "stdout is closed"),
        (">&-", ("facets",), 2, "stdout is closed"),
        (">&-", ("lineage", TABLE, "--catalog", "shop.db"), 2, "stdout is closed"),
    ],
)
def test_what_needs_the_one_that_is_closed_says_so(closed, arguments, code, said):
    assert ran("", "emit", EVENTS, "--to", "catalog:shop.db").returncode == 0
    result = ran(closed, *arguments)
    assert result.returncode == code
    assert said in result.stderr
    assert "Traceback" not in result.stderr
