"""Importing the package is light, and imports go downwards only."""

from __future__ import annotations

import configparser
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dh_bridge

ROOT = Path(__file__).resolve().parents[1]
CONTRACTS = ROOT / ".importlinter"
HEAVY = ("avro", "confluent_kafka", "datahub", "fastavro", "openlineage", "pyarrow", "pyspark", "requests", "sqlite3")


def loaded(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after ``code``."""
    whole = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def lint(config: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo", "--config", str(config)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_importing_the_package_loads_nothing_but_itself():
    before = loaded("")
    after = loaded("import dh_bridge")
    assert after.isdisjoint({*HEAVY, "click", "msgspec", "orjson", "pydantic", "rich", "yaml"})
    assert {name for name in after - before if name not in sys.stdlib_module_names} == {"dh_bridge"}


def test_bridge_needs_no_extra_and_no_screen():
    assert loaded("from dh_bridge import Bridge; Bridge().translate([])").isdisjoint({*HEAVY, "click", "rich"})


@pytest.mark.parametrize("name", dh_bridge.__all__)
def test_every_public_name_is_there(name):
    assert getattr(dh_bridge, name) is not None


def test_public_names_are_these():
    assert dh_bridge.__all__ == ["Bridge", "Proposal", "Settings", "Translation", "__version__", "translate"]


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        dh_bridge.nope  # noqa: B018 - the access is the test


def test_imports_go_downwards_only():
    done = lint(CONTRACTS)
    assert done.returncode == 0, done.stdout


def test_every_room_has_its_floor():
    contracts = configparser.ConfigParser()
    contracts.read(CONTRACTS, encoding="utf-8")
    layers = contracts["importlinter:contract:layers"]["layers"].replace(":", " ").replace("|", " ").split()
    rooms = [module.name for module in pkgutil.iter_modules(dh_bridge.__path__)]
    assert sorted(layers) == sorted(rooms)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "    bundled\n    errors | msgspec_threads\n",
            "    errors | msgspec_threads\n    bundled\n",
            id="a room on the wrong floor",
        ),
        pytest.param("    time\n", "    time\n    msgspec\n", id="a package that the core may not have"),
    ],
)
def test_contracts_can_fail(tmp_path, old, new):
    text = CONTRACTS.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "broken").write_text(text.replace(old, new), encoding="utf-8")
    done = lint(tmp_path / "broken")
    assert done.returncode == 1
    assert "BROKEN" in done.stdout
