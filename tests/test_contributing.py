"""The recipes of CONTRIBUTING.md work to the letter, in a copy of the checkout, and are short."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (Add a .+?)\n(.+?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL))
TOOLS = Path(sys.executable).parent
FACET = """
from dh_bridge import translate
event = {"eventType": "START", "eventTime": "2026-11-20T01:00:00Z", "run": {"runId": "r", "facets": {
    "acme_cost": {"amount": 1.25}}}, "job": {"namespace": "shop", "name": "daily.load"}}
done = translate(event, report=True)
print(next(one.value for one in done.proposals if one.aspect_name == "dataProcessInstanceProperties")["customProperties"])
print(*(line["outcome"] for line in done.report.lines() if "acme_cost" in line["path"]))
"""


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of what the recipes touch."""
    for folder in ("src", "mappings", "avro_schemas", "tests/sinks", "tests/support", "tests/naming"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", ".importlinter", "README.md"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def run(checkout, *command):
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pytest_of(checkout, *arguments):
    return run(checkout, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)


def written(checkout, recipe, language):
    """Write the recipe's one block of a language to the last path named before it; return the path."""
    before, block = re.search(rf"(.+?)```{language}\n(.+?)```", RECIPES[recipe], re.DOTALL).groups()
    path = checkout / re.findall(r"`([\w./]+)`", before)[-1]
    assert not path.exists()
    path.write_text(block, encoding="utf-8")
    return path


def inserted(path, diff):
    """Insert the + line of a diff below its other line."""
    context, line = diff.splitlines()
    text = path.read_text(encoding="utf-8")
    assert text.count(context[1:] + "\n") == 1
    path.write_text(text.replace(context[1:] + "\n", f"{context[1:]}\n{line[1:]}\n"), encoding="utf-8")


def test_there_are_three_recipes_of_at_most_25_lines():
    assert list(RECIPES) == ["Add a dataset system", "Add a facet", "Add a sink"]
    assert all(len([line for line in text.splitlines() if line.strip()]) <= 25 for text in RECIPES.values())


def test_a_system_is_added_by_its_recipe(checkout):
    written(checkout, "Add a dataset system", "yaml")
    out = pytest_of(checkout, "tests/naming/test_examples.py", "-k", "acmedb")
    assert int(re.search(r"(\d+) passed", out)[1]) >= 3
    code = "from dh_bridge.cli import main; main()"
    shown = run(checkout, sys.executable, "-c", code, "urn", "acmedb://h:7000", "Sales.Orders")
    assert "urn:li:dataset:(urn:li:dataPlatform:acmedb,sales.orders,PROD)" in shown


def test_a_facet_is_added_by_its_recipe(checkout):
    path = written(checkout, "Add a facet", "python")
    properties, outcomes = run(checkout, sys.executable, "-c", FACET).splitlines()
    assert "'openlineage.acme_cost.amount': '1.25'" in properties
    assert outcomes == "property"
    run(checkout, str(TOOLS / "ruff"), "check", str(path))
    run(checkout, str(TOOLS / "ruff"), "format", "--check", str(path))


def test_a_sink_is_added_by_its_recipe(checkout):
    recipe = RECIPES["Add a sink"]
    command = re.search(r"```console\n\$ (.+)\n```", recipe)[1]
    run(checkout, "bash", "-c", command)
    scheme, case = re.findall(r"```diff\n(.+?)```", recipe, re.DOTALL)
    inserted(checkout / "src/dh_bridge/sinks/base.py", scheme)
    inserted(checkout / "tests/support/sink_contract.py", case)
    out = pytest_of(checkout, "tests/sinks/test_sink_contract.py", "-k", "queue", "-o", "pythonpath=tests")
    assert int(re.search(r"(\d+) passed", out)[1]) > 8
    run(checkout, str(TOOLS / "lint-imports"), "--no-cache")
