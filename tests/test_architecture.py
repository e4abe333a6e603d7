"""The house keeps its shape: small modules, short functions, no loose ends, and pages that name what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dh_bridge
from dh_bridge.sinks import abilities
from dh_bridge.sinks.abilities import SinkWrapper
from dh_bridge.sinks.base import SINK_KINDS

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "dh_bridge"
MODULES = sorted(SRC.rglob("*.py"))
TALL_MODULE = 400
TALL_FUNCTION = 60
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "handler", "misc", "base_utils"}
LOOSE = re.compile(r"TODO|FIXME|XXX|NotImplementedError")
OUTSIDE = re.compile(rb"\.\./shared|/work/|\b(?:facets|producers|systems|joins|identity)\.md [0-9a-i]\b|[Rr]ulings? \d")
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "CHANGELOG.md", "examples/README.md")


def names(paths):
    return [path.relative_to(ROOT).as_posix() for path in paths]


def functions(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def test_no_module_is_taller_than_four_hundred_lines():
    heights = {name: len(path.read_bytes().splitlines()) for name, path in zip(names(MODULES), MODULES, strict=True)}
    assert {name: height for name, height in heights.items() if height > TALL_MODULE} == {}


def test_every_function_fits_a_screen():
    tall = {
        f"{name}:{function}": height
        for name, path in zip(names(MODULES), MODULES, strict=True)
        for function, height in functions(path)
        if height > TALL_FUNCTION
    }
    assert tall == {}


def test_module_names_are_specific():
    assert {path.stem for path in MODULES} & VAGUE == set()


def test_nothing_is_left_for_later():
    loose = [
        f"{name}:{number}"
        for name, path in zip(names(MODULES), MODULES, strict=True)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if LOOSE.search(line)
    ]
    assert loose == []


@pytest.mark.parametrize("folder", ["src", "mappings", "avro_schemas", "examples", "benchmarks", "tools", "docs"])
def test_nothing_needs_what_only_its_writers_have(folder):
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert files
    assert [name for name, path in zip(names(files), files, strict=True) if OUTSIDE.search(path.read_bytes())] == []


@pytest.mark.parametrize("name", [*PAGES, "Makefile", ".ci/run", "pyproject.toml"])
def test_no_page_points_outside_the_checkout(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "../shared" not in text
    assert "/work/" not in text


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((?!https?://|#)([^)#]+)", text))
    quoted = set(re.findall(r"`((?:src|tests|mappings|avro_schemas|benchmarks|tools|docs)/[\w./-]+)`", text))
    home = (ROOT / page).parent
    missing = [path for path in linked if not (home / path).exists()]
    missing += [path for path in quoted if not (ROOT / path).exists() and "acme" not in path]
    assert missing == []


def drawn():
    """Return the paths that the floor plan of ARCHITECTURE.md names."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    plan = text.partition("```text\n")[2].partition("```")[0]
    found: list[str] = []
    folders: list[tuple[int, str]] = []
    for line in plan.splitlines():
        match = re.match(r"( *)([\w./-]+(?: [\w-]+(?:/|\.\w+))*)", line)
        if match is None:
            continue
        depth = len(match[1])
        folders = [entry for entry in folders if entry[0] < depth]
        for word in match[2].split():
            path = "".join(folder for _, folder in folders) + word
            found.append(path)
        if match[2].endswith("/") and " " not in match[2]:
            folders.append((depth, match[2]))
    return found


def test_every_part_of_the_floor_plan_exists():
    assert [path for path in drawn() if not (ROOT / path).exists()] == []


def test_every_room_is_on_the_floor_plan():
    rooms = {path.name for path in SRC.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    rooms |= {path.name for path in SRC.glob("*.py") if path.name != "__init__.py"}
    shown = {Path(path).name for path in drawn() if path.startswith("src/dh_bridge/")}
    assert rooms - shown == set()


def test_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)[0] == dh_bridge.__version__


# -- no circles ----------------------------------------------------------------------------------------------------------


def module_name(path):
    return ".".join(path.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_modules(tree, known_names):
    """Return the modules among ``known_names`` that a module imports, those under TYPE_CHECKING and in functions included."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= submodules & known_names if submodules <= known_names else {node.module, *submodules}
    return imported & known_names


def import_circles(graph):
    """Return the groups of modules of ``graph`` that import each other, directly or through others."""
    reachable = {}
    for start in graph:
        pending, reached = [start], set()
        while pending:
            for name in graph[pending.pop()] - reached:
                reached.add(name)
                pending.append(name)
        reachable[start] = reached
    return {
        frozenset(other for other in reachable[name] if name in reachable[other])
        for name in graph
        if name in reachable[name]
    }


def test_no_modules_import_each_other_in_a_circle():
    """Imports for type hints count: two modules that need each other's types are one subject, or lack a protocol."""
    names = {module_name(path) for path in MODULES}
    graph = {
        module_name(path): imported_modules(ast.parse(path.read_text(encoding="utf-8")), names) for path in MODULES
    }
    assert import_circles(graph) == set()


def test_circle_of_imports_is_found():
    typed = ast.parse("if TYPE_CHECKING:\n    from dh_bridge.b import Name\n")
    lazy = ast.parse("def call():\n    from dh_bridge import a\n")
    names = {"dh_bridge", "dh_bridge.a", "dh_bridge.b"}
    graph = {"dh_bridge.a": imported_modules(typed, names), "dh_bridge.b": imported_modules(lazy, names)}
    assert import_circles(graph) == {frozenset({"dh_bridge.a", "dh_bridge.b"})}


# -- sinks declare what they are -----------------------------------------------------------------------------------------

ASKED_IN = {"sinks/base.py", "sinks/abilities.py"}
"""The modules that look for abilities of sinks and know schemes; each sink knows its own, in its own module."""
OTHER_WORDS = {
    ("cli/path_conflicts.py", "file:"): "a URI of Hadoop",
    ("cli/spark.py", "file"): "a file system of Hadoop",
    ("spark/checkpoint_lock.py", "file"): "a file system of Hadoop",
    ("spark/local_files.py", "file"): "a file system of Hadoop",
    ("sdk/plain.py", "kind"): "an attribute of numpy's types",
    ("spark/topics.py", "kafka"): "a word of an error of Spark's",
}
"""(module, text) -> what a comparison with it is about, where it is not about sinks."""
NO_SINKS = (
    "aggregate", "assertions", "closing.py", "columns", "datahub", "extract.py", "facet_support", "facets", "filters.py", "identity",
    "lineage", "model", "naming", "openlineage", "options.py", "pipeline.py", "redaction", "render", "report", "state_codec",
    "value_maps",
)  # fmt: skip
"""Packages that know no sinks; their schemes are those of datasets' namespaces."""


def members_of_sinks():
    protocols = [
        one for one in vars(abilities).values() if isinstance(one, type) and getattr(one, "_is_protocol", False)
    ]
    names = {name for one in [*protocols, SinkWrapper] for name in vars(one) if not name.startswith("_")}
    return (names | {"dropped_counts", "kind"}) - {"emit", "close"}


def texts_of(node):
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)}


def looks_past_the_declaration(tree, schemes, members, classes):
    """Yield (line, text) of each look for a method of a sink, comparison with a scheme, and check for a class of sinks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            yield from ((node.lineno, text) for side in sides for text in texts_of(side) & schemes)
        elif isinstance(node, ast.match_case):
            yield from ((node.pattern.lineno, text) for text in texts_of(node.pattern) & schemes)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"startswith", "removeprefix", "partition", "endswith"}:
                yield from ((node.lineno, text) for one in node.args for text in texts_of(one) & schemes)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in {"getattr", "hasattr"}:
                yield from ((node.lineno, text) for text in texts_of(node.args[1]) & members)
            elif node.func.id in {"isinstance", "issubclass"}:
                named = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
                yield from ((node.lineno, name) for name in named & classes)


def sink_classes():
    classes = set()
    for path in (SRC / "sinks").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes |= {
            node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name.endswith("Sink")
        }
    return classes


SCHEMES = set(SINK_KINDS) | {f"{scheme}:" for scheme in SINK_KINDS}


def test_modules_ask_the_declaration_of_a_sink():
    """A new sink needs no changes in commands and entry points, as none of them looks for its methods or its scheme."""
    found = {}
    members, classes = members_of_sinks(), sink_classes()
    for path in MODULES:
        name = path.relative_to(SRC).as_posix()
        if name.partition("/")[0] in NO_SINKS or name in ASKED_IN:
            continue
        own = name.split("/")[1].removesuffix(".py") if name.startswith("sinks/") else ""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, text in looks_past_the_declaration(tree, SCHEMES - {own, f"{own}:"}, members, classes):
            if (name, text) not in OTHER_WORDS:
                found[f"{name}:{line}"] = text
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        'scheme == "kafka"',
        'scheme in ("rest", "kafka")',
        'target.startswith("rest:")',
        'target.startswith(("x", "catalog:"))',
        'getattr(sink, "set_deadline", None)',
        'hasattr(sink, "read")',
        "isinstance(sink, CatalogSink)",
        'match scheme:\n    case "file":\n        pass',
    ],
)
def test_bypass_of_the_sink_declaration_is_found(line):
    assert list(looks_past_the_declaration(ast.parse(line), SCHEMES, members_of_sinks(), sink_classes()))
