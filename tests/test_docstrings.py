"""Examples in docstrings run, and the public interface documents its arguments, results and errors."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from dh_bridge import Bridge, Settings, translate
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.validation import Validator
from dh_bridge.sdk import Pipeline, Run
from dh_bridge.sinks.base import Sink

SRC = Path(__file__).resolve().parents[1] / "src"
MODULES = [
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SRC.rglob("*.py"))
    if any(
        ">>> " in line and "+SKIP" not in line for line in path.read_text(encoding="utf-8").splitlines()
    )  # one that needs an optional package is not imported
]
PUBLIC = (translate, Bridge, Pipeline, Run, Sink, Validator, Catalog, Settings)
METHODS = [
    (public, name)
    for public in PUBLIC
    if public is not Settings and inspect.isclass(public)
    for name, member in vars(public).items()
    if inspect.isfunction(member) and not name.startswith("_")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(import_module(module)).failed == 0


def sections(docstring):
    """Return the sections of a docstring in Google's form: ``Args`` -> the names that it documents, other sections -> its text."""
    parts = re.split(r"^(\w+):\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return found | {"Args": set(re.findall(r"^    \*{0,2}(\w+):", found.get("Args", ""), re.MULTILINE))}


def arguments(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_public_class_or_function_has_an_example_that_runs(public):
    example = sections(public.__doc__)["Example"]
    assert doctest.DocTestParser().get_examples(example)
    assert "+SKIP" not in example


@pytest.mark.parametrize(
    "public", [translate, Bridge, Validator, Catalog, Pipeline], ids=lambda public: public.__name__
)
def test_public_class_or_function_documents_its_arguments(public):
    assert sections(public.__doc__)["Args"] == set(arguments(public))


@pytest.mark.parametrize(("public", "name"), METHODS, ids=lambda value: getattr(value, "__name__", value))
def test_public_method_documents_its_arguments_and_its_result(public, name):
    method = getattr(public, name)
    documented = sections(method.__doc__)
    assert documented["Args"] == set(arguments(method))
    result = inspect.signature(method).return_annotation
    assert {"Returns", "Yields"} & documented.keys() or result == "None"
