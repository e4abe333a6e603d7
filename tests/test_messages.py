"""Messages: no text that a user may read contains a retired word."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support.retired_words import find_retired

SRC = Path(__file__).resolve().parents[1] / "src" / "dh_bridge"


def literals(tree):
    """Yield the text and line of each string that is no docstring; ``{}`` stands for each value of an f-string."""
    docstrings, parts = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            yield (
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
                node.lineno,
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings | parts:
            yield node.value, node.lineno


def messages():
    """Yield the module, line and text of each string of several words; SQL is no message."""
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        for text, line in literals(ast.parse(path.read_text(encoding="utf-8"))):
            if " " in text.strip() and "CREATE TABLE" not in text:
                yield name, line, text


def test_messages_contain_no_retired_term():
    found = {
        f"{name}:{line} {find_retired(text)}: {text[:80]}" for name, line, text in messages() if find_retired(text)
    }
    assert found == set()


def test_message_check_covers_errors_warnings_and_logs():
    texts = {text for _, _, text in messages()}
    assert len(texts) > 700
    assert "no response within the timeout" in texts  # of an error
    assert "{}: not sent: {}" in texts  # of a warning
    assert "%s: not sent to DataHub: %s" in texts  # of the log
    assert "check that this is the address of DataHub's metadata service" in texts  # of a remedy


@pytest.mark.parametrize(
    ("text", "retired"),
    [
        ("what is told waits in the ledger", ["told"]),
        ("'x' is no URN", ["is no"]),
        ("knows nothing of orders", ["knows nothing"]),
        ("The place {} stands nowhere", ["The place", "stands", "nowhere"]),
        ("there is no PATCH for a timeseries aspect", []),
        ("'x' is not a URN", []),
        ("the laws of the ledger", ["laws"]),
        ("intolerable, astounding", []),
    ],
)
def test_retired_terms_match_as_full_terms_in_any_case(text, retired):
    assert find_retired(text) == retired
