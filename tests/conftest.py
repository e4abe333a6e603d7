"""For all tests: nothing is written into the user's home, and nothing is told to anybody's telemetry."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

pytest_plugins = ["realparts.fixtures"]

_REAL = "TESTS_REAL_HOME"  # workers of xdist start with what their parent has set
_TESTS = Path(__file__).parent
#: What counts branches are the tests of translation and datahub themselves; to trace all others would double their time.
_COUNTED = {"translation", "datahub", "golden"}


def pytest_configure(config):
    home = tempfile.mkdtemp(prefix="dh_bridge_home_")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    os.environ.setdefault(_REAL, os.environ.get("HOME", ""))
    # acryl-datahub writes ~/.datahub when it is imported, and would report its use.
    os.environ |= {"HOME": home, "DATAHUB_TELEMETRY_ENABLED": "false"}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.relative_to(_TESTS).parts[0] not in _COUNTED:
            item.add_marker("no_cover")


@pytest.fixture
def real_home():
    """Return the home that pip's settings stand in."""
    return os.environ[_REAL]
