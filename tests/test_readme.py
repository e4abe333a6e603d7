"""What the README prints for a server runs as printed, against one on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from gms import Gms

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("title", ["Into DataHub"])
def test_the_lines_for_a_server_run_as_printed(title, tmp_path):
    block = re.search(rf"### {title}\n\n```console\n(.+?)```", README, re.DOTALL)[1]
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    assert len(lines) <= 10
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        script = "set -e\n" + "\n".join(lines).replace("http://localhost:8080", gms.url)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=os.environ | {"PATH": path, "HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr
        assert len(gms.dump()) > 100
    assert f"{gms.url}: DataHub 1.4.0, profile 1.4" in done.stdout
    assert done.stderr.count("nothing is written to rest:") == 1
    assert done.stderr.count("writing to rest:") == 1
