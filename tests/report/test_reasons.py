"""Each reason of a report is in the list, with a meaning."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pydantic import BaseModel

from dh_bridge.report.reasons import REASONS, find_reason, is_loss
from dh_bridge.settings import Settings

SRC = Path(__file__).resolve().parents[2] / "src" / "dh_bridge"
POSITIONS = {
    "note_dropped": 1,
    "dropped": 0,
    "skip_name": 1,
    "write_skipped": 3,
    "note_unpaired": 2,
    "note_dropped_source": 3,
}
FAMILY = re.compile(r"(no-field|policy|duplicate-of|empty|filtered):.")


def literals(node):
    """Yield the texts in an expression; a name or a call in an f-string is a detail."""
    if isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from literals(value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(value.value if isinstance(value, ast.Constant) else "x" for value in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def used_reasons():
    """Return the reasons that modules pass to the functions that drop fields, and all texts that look like a reason."""
    found = set()
    for path in SRC.rglob("*.py"):
        if path.name == "reasons.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                position = POSITIONS.get(name)
                arguments = node.args[position : position + 1] if position is not None else []
                arguments += [
                    keyword.value for keyword in node.keywords if keyword.arg == "reason" and name.endswith("facet")
                ]
                for argument in arguments:
                    found.update(text for text in literals(argument) if text and not text.startswith("x"))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and FAMILY.match(node.value):
                found.add(node.value)
    return found


def setting_keys(model, prefix=""):
    """Return the keys of all settings, with dots."""
    keys = set()
    for name, field in model.model_fields.items():
        keys.add(prefix + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys |= setting_keys(field.annotation, f"{prefix}{name}.")
    return keys


def test_each_reason_that_the_code_uses_is_in_the_list():
    reasons = used_reasons()
    assert {"envelope", "malformed", "too-large", "phantom", "no-field:no run", "policy:redaction"} <= reasons
    in_schema = {
        "no-field:frame",
        "no-field:metadata-table",
        "no-field:projection",
    }  # facets/schema.py makes "no-field:x" of them
    reasons = (reasons - {"no-field:x"}) | in_schema
    assert {reason for reason in reasons if find_reason(reason) is None} == set()
    listed = {reason.name for reason in REASONS}
    by_setting = {reason for reason in reasons if reason.startswith("policy:")} - listed
    assert {reason.removeprefix("policy:") for reason in by_setting} <= setting_keys(Settings)


def test_reasons_have_one_entry_and_a_sentence():
    assert len({reason.name for reason in REASONS}) == len(REASONS)
    assert [reason for reason in REASONS if not re.fullmatch(r"[A-Z`].+\.", reason.meaning)] == []


def test_empty_and_duplicate_values_are_no_loss():
    assert [is_loss(text) for text in ("empty", "empty:null", "envelope", "duplicate-of:run.runId")] == 4 * [False]
    assert [is_loss(text) for text in ("secret", "no-field:no run", "filtered:jobs", "something new", None)] == 5 * [
        True
    ]
    assert find_reason("duplicate-of:") is None
