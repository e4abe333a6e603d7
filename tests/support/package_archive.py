"""The package as a zip file, and a Python without it: how it travels to Spark's executors."""

from __future__ import annotations

import subprocess
import sys
import sysconfig

from support.sample_events import ROOT


def build_archive(folder):
    """Return the wheel under the ending that Spark takes for Python code."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel.rename(folder / "dh_bridge.zip")


def python_without_package(folder):
    """Return a Python with all that is installed here but the package, which a .pth file of these packages names."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "installed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = folder / "bin" / "python"
    done = subprocess.run(
        [python, "-c", "import msgspec, pyspark, dh_bridge.bridge"], capture_output=True, text=True, check=False
    )
    assert "No module named 'dh_bridge" in done.stderr
    return python
