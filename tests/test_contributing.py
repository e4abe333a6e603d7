"""The recipes of CONTRIBUTING.md work to the letter, in a copy of the checkout, are short, and touch as many files as they say."""

from __future__ import annotations

import ast
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
ROWS = {
    name: (int(by_hand), int(number) if number.isdecimal() else 0)
    for name, by_hand, number in re.findall(r"^\| an? (.+?) \| (\d+): .+? \| (\d+|none)\b", PAGE, re.MULTILINE)
}
"""Recipe -> how many files it touches by hand, and by `make docs` and `make golden`."""
TOOLS = Path(sys.executable).parent
FACET = """
from dh_bridge import translate
event = {"eventType": "START", "eventTime": "2026-11-20T01:00:00Z", "run": {"runId": "r", "facets": {
    "acme_cost": {"amount": 1.25}}}, "job": {"namespace": "shop", "name": "daily.load"}}
done = translate(event, report=True)
print(next(one.value for one in done.proposals if one.aspect_name == "dataProcessInstanceProperties")["customProperties"])
print(*(line["outcome"] for line in done.report.lines() if "acme_cost" in line["path"]))
"""


SETTING = """
from dh_bridge import translate
event = {"eventType": "COMPLETE", "eventTime": "2026-11-20T01:00:00Z", "run": {"runId": "r", "facets": {
    "trino_query_statistics": {"stages": "3"}}}, "job": {"namespace": "trino://shop:8080", "name": "daily"}}
for value in ("keep", "drop"):
    done = translate(event, {"properties": {"trino_counters": value}}, report=True)
    print(any("trino_query_statistics" in str(proposal.value) for proposal in done.proposals))
print(*(f"{line['outcome']} {line['reason']}" for line in done.report.lines() if "query_statistics" in line["path"]))
"""
FOLDERS = (
    "src", "mappings", "avro_schemas", "docs", "tools", "tests/sinks", "tests/support", "tests/naming", "tests/golden", "tests/identity",
)  # fmt: skip


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of what the recipes touch and run."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", ".importlinter", "README.md"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def changed_files(checkout):
    """Return the files of the copy that differ from those of the checkout."""
    files = [path.relative_to(checkout) for path in checkout.rglob("*") if path.is_file()]
    return {
        file.as_posix()
        for file in files
        if "__pycache__" not in file.parts
        and not ((ROOT / file).exists() and (ROOT / file).read_bytes() == (checkout / file).read_bytes())
    }


GOLDEN = ("tests/golden/test_golden_samples.py", "-p", "no:randomly", "-o", "pythonpath=tests")


def assert_touches(checkout, name, *, has_golden=False):
    """Write the generated files, and compare the numbers of files with those of the page."""
    by_hand = changed_files(checkout)
    if has_golden:
        run(checkout, sys.executable, "tools/golden_events.py")
        pytest_of(checkout, *GOLDEN, "-k", "acme", "--update-golden")
        pytest_of(checkout, *GOLDEN, "-k", "acme or not golden_file_says")
    run(checkout, sys.executable, "tools/generate_docs.py")
    recipe = RECIPES[f"Add a {name}"]
    own_test = len(re.findall(r"^Test (?:it|both values)\b", recipe, re.MULTILINE))
    assert (len(by_hand) + own_test, len(changed_files(checkout) - by_hand)) == ROWS[name]


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
    assert text.splitlines().count(context[1:]) == 1
    path.write_text(re.sub(rf"^{re.escape(context[1:])}\n", f"{context[1:]}\n{line[1:]}\n", text, flags=re.MULTILINE))


def inserted_into(path, name, block, *, at_end):
    """Insert a block at the end of a class, or below the docstring of a function."""
    text = path.read_text(encoding="utf-8")
    node = next(node for node in ast.parse(text).body if getattr(node, "name", None) == name)
    lines = text.splitlines(keepends=True)
    lines.insert(node.end_lineno if at_end else node.body[0].end_lineno, block)
    path.write_text("".join(lines), encoding="utf-8")


def test_recipes_have_at_most_25_lines():
    names = ["dataset system", "producer", "facet", "sink", "setting"]
    assert list(RECIPES) == [f"Add a {name}" for name in names]
    assert list(ROWS) == names
    assert all(len([line for line in text.splitlines() if line.strip()]) <= 25 for text in RECIPES.values())


def test_system_is_added_by_its_recipe(checkout):
    written(checkout, "Add a dataset system", "yaml")
    out = pytest_of(checkout, "tests/naming/test_examples.py", "-k", "acmedb")
    assert int(re.search(r"(\d+) passed", out)[1]) >= 3
    code = "from dh_bridge.cli import main; main()"
    shown = run(checkout, sys.executable, "-c", code, "urn", "acmedb://h:7000", "Sales.Orders")
    assert "urn:li:dataset:(urn:li:dataPlatform:acmedb,sales.orders,PROD)" in shown
    assert_touches(checkout, "dataset system")


def test_producer_is_added_by_its_recipe(checkout):
    written(checkout, "Add a producer", "yaml")
    (sample,) = re.findall(r"```diff\n(.+?)```", RECIPES["Add a producer"], re.DOTALL)
    inserted(checkout / "tests/golden/samples.yaml", sample)
    out = pytest_of(checkout, "tests/identity/test_producers.py", "-k", "acme_etl", "-o", "pythonpath=tests")
    assert int(re.search(r"(\d+) passed", out)[1]) >= 1
    assert_touches(checkout, "producer", has_golden=True)


def test_facet_is_added_by_its_recipe(checkout):
    path = written(checkout, "Add a facet", "python")
    (sample,) = re.findall(r"```diff\n(.+?)```", RECIPES["Add a facet"], re.DOTALL)
    inserted(checkout / "tests/golden/samples.yaml", sample)
    properties, outcomes = run(checkout, sys.executable, "-c", FACET).splitlines()
    assert "'openlineage.acme_cost.amount': '1.25'" in properties
    assert outcomes == "property"
    run(checkout, str(TOOLS / "ruff"), "check", "--no-cache", str(path))
    run(checkout, str(TOOLS / "ruff"), "format", "--check", "--no-cache", str(path))
    assert_touches(checkout, "facet", has_golden=True)


def test_sink_is_added_by_its_recipe(checkout):
    recipe = RECIPES["Add a sink"]
    command = re.search(r"```console\n\$ (.+)\n```", recipe)[1]
    run(checkout, "bash", "-c", command)
    scheme, case = re.findall(r"```diff\n(.+?)```", recipe, re.DOTALL)
    inserted(checkout / "src/dh_bridge/sinks/base.py", scheme)
    inserted(checkout / "tests/support/sink_contract.py", case)
    out = pytest_of(checkout, "tests/sinks/test_sink_contract.py", "-k", "queue", "-o", "pythonpath=tests")
    assert int(re.search(r"(\d+) passed", out)[1]) > 8
    run(checkout, str(TOOLS / "lint-imports"), "--no-cache")
    assert_touches(checkout, "sink")


def test_setting_is_added_by_its_recipe(checkout):
    field, use = re.findall(r"```python\n(.+?)```", RECIPES["Add a setting"], re.DOTALL)
    model, module = checkout / "src/dh_bridge/settings/output.py", checkout / "src/dh_bridge/facets/trino.py"
    inserted_into(model, "PropertySettings", field, at_end=True)
    inserted_into(module, "trino_query_statistics", use, at_end=False)
    assert run(checkout, sys.executable, "-c", SETTING) == "True\nFalse\ndropped policy:properties.trino_counters\n"
    run(checkout, str(TOOLS / "ruff"), "format", "--check", "--no-cache", str(model), str(module))
    assert_touches(checkout, "setting")
