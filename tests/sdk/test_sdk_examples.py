"""The two examples of the SDK run as printed and report what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name, tmp_path, *arguments):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_runs_are_tried_again_and_skipped(tmp_path):
    lines = run("sdk_run.py", tmp_path)
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == [
        "shop",
        "shop.load_orders",
        "shop.mail_report",
    ]
    # starts may fall into the millisecond of an end, which then stands
    assert [line.split() for line in lines if "COMPLETE" in line] == [
        ["try", "1", "COMPLETE", "SUCCESS"],
        ["try", "1", "COMPLETE", "UP_FOR_RETRY"],
        ["try", "2", "COMPLETE", "SUCCESS"],
        ["try", "1", "COMPLETE", "SKIPPED"],
    ]
    assert list(tmp_path.iterdir()) == []


def test_checks_have_results_for_every_part_of_a_table(tmp_path):
    lines = run("sdk_assertion.py", tmp_path)
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["CUSTOM", "VOLUME", "FRESHNESS"]
    ends = sorted(" ".join(line.split()) for line in lines if line.startswith(" "))
    assert ends == sorted(
        [
            '[{"country": "IN"}] SUCCESS',
            '[{"country": "US"}] FAILURE',
            "FULL_TABLE_SNAPSHOT ERROR SOURCE_CONNECTION_ERROR",
            "country = 'IN' SUCCESS",
            "FULL_TABLE_SNAPSHOT SUCCESS",
        ]
    )


@pytest.mark.parametrize("name", ["sdk_run.py", "sdk_assertion.py"])
def test_example_writes_its_catalogue(name, tmp_path):
    run(name, tmp_path, "shop.db")
    assert (tmp_path / "shop.db").stat().st_size
