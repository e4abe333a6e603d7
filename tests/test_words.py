"""No text contains a retired word: pages, ``--help``, settings, messages, docstrings and comments.

``support/retired_words.py`` lists the words.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest
from support.retired_words import retired_words

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dh_bridge"
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    ROOT / "docs" / "dh_bridge.schema.json",
    ROOT / "examples" / "README.md",
]
PAGES += [*ROOT.glob("docs/coverage/*.yaml"), *ROOT.glob("examples/*.py"), ROOT / "benchmarks" / "RESULTS.md"]

STORED_NAMES = {"spark/state.py": ["told", "told"]}
"""Names of folders in existing checkpoints, which a docstring lists."""


def prose_of_module(path):
    """Return the docstrings and comments of a module, without those that configure a tool."""
    source = path.read_text(encoding="utf-8")
    docstrings = [
        node.value.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return docstrings + [token.string for token in tokens if token.type == tokenize.COMMENT]


def texts_of_module(path):
    """Return the texts of a module that are no docstrings and have several words: messages, mostly."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings of variables
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value
        and id(node) not in docstrings | statements
    ]


def count_left():
    """Return the number of retired words of each page, and of the messages of each package."""
    counts = Counter({page.relative_to(ROOT).as_posix(): len(retired_words(page.read_text("utf-8"))) for page in PAGES})
    for module in sorted(SOURCE.rglob("*.py")):
        package = module.relative_to(SOURCE).parts[0]
        counts[f"messages of {package}"] += len(retired_words("\n".join(texts_of_module(module))))
    return +counts


def test_user_texts_contain_no_retired_term():
    assert count_left() == {}


def test_no_docstring_or_comment_contains_a_retired_word():
    left = {}
    for module in sorted(SOURCE.rglob("*.py")):
        name = module.relative_to(SOURCE).as_posix()
        words = retired_words("\n".join(prose_of_module(module)))
        if words != STORED_NAMES.get(name, []):
            left[name] = words
    assert left == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Senders are told POST; what they come to waits.", ["told", "come to"]),
        ("It keeps silent behind its back.", ["behind its back"]),
        ("`tell` in code, https://example.com/tell and <!-- told --> do not count.", []),
        ("A stand-in for DataHub takes place; `**` stands for all.", []),
        ("Retelling a storyboard untold times.", []),
    ],
)
def test_retired_terms_match_as_full_terms_outside_of_code(text, words):
    assert retired_words(text) == words
