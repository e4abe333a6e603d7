"""Names of the code: one class of each name, and none of the retired words."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from support.retired_words import is_retired_name

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "src" / "dh_bridge").rglob("*.py"))

VAGUE_VARIABLES = frozenset(
    ["anew", "apart", "at", "found", "given", "it", "known", "noted", "one", "ours", "said", "told", "whole"]
)
"""Pronouns, participles and adverbs that name no parameter and no variable."""


def trees():
    for path in MODULES:
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def words(identifier):
    """Return the words of an identifier: ``SharedEntity`` and ``shared_entity`` are ``shared``, ``entity``."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", identifier)}


def definitions(tree):
    """Yield the name and line of each class, function, argument and variable."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def variables(tree):
    """Yield the name and line of each argument and variable; fields of classes are read from files and settings."""
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.id, node.lineno


def test_no_two_public_classes_share_a_name():
    homes = defaultdict(set)
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name)
    assert {name: sorted(places) for name, places in homes.items() if len(places) > 1} == {}


def test_identifiers_contain_no_retired_term():
    retired = {
        f"{name}:{line} {word}"
        for name, tree in trees()
        for word, line in definitions(tree)
        if any(map(is_retired_name, words(word))) and word != "__slots__"
    }
    assert retired == set()


def test_no_variable_is_a_pronoun_or_participle():
    vague = {
        f"{name}:{line} {word}" for name, tree in trees() for word, line in variables(tree) if word in VAGUE_VARIABLES
    }
    assert vague == set()


def test_words_of_an_identifier_are_separated():
    assert words("SharedEntity") == words("shared_entity") == {"shared", "entity"}
    assert words("_MAX_PAGES") == {"max", "pages"}
    assert words("JSONSlot") == {"json", "slot"}
