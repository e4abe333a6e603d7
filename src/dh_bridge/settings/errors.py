"""What is wrong with given settings, said as SettingsErrors: the key, the place it was given, the nearest known name."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings
from dh_bridge.settings.introspection import annotation_at, area, is_secret, is_simple, masked, names
from dh_bridge.settings.yaml_source import Steps, dotted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

_IN_PYTHON = {
    "tuple_type": "should be a list",
    "model_type": "should be a mapping of settings",
    "model_attributes_type": "should be a mapping of settings",
    "dict_type": "should be a mapping",
}
"""Kinds of errors -> what people call what is wanted: nobody writes tuples into a file."""
_BEHIND = re.compile(r"(?<=[:=]).+", re.DOTALL)


class Given(NamedTuple):
    """A value that somebody gave, where (``dh_bridge.yml:3``, ``env NAME``, ``flag --name``), and its file's lines."""

    value: Any
    origin: str
    lines: Mapping[Steps, int] = {}


def problem(error: dict[str, Any], given: Mapping[Steps, Given]) -> SettingsError:
    """Return one of pydantic's errors as ours."""
    steps: Steps = error["loc"]
    where = _where(steps, given)
    value = error.get("input")
    if error["type"] == "extra_forbidden":
        model = area(annotation_at(Settings, steps[:-1])) if steps[:-1] else Settings
        now = _divided(steps, where, model) or known_keys(model, str(steps[-1]))
        return SettingsError(f"unknown key `{_cut(steps)}`", where=where, now=now)
    key = dotted(steps) if value is not None else _cut(steps)
    shown = f", not {masked(key, value)!r}" if _may_be_shown(steps, value) else ""
    message = error["msg"].removeprefix("Input ").removeprefix("String ").removeprefix("Value error, ")
    message = _IN_PYTHON.get(error["type"], message)
    choices = str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").replace("'", "").split(", ")
    near = difflib.get_close_matches(str(value), choices, n=1) if error["type"] == "literal_error" else []
    now = (
        f"did you mean `{near[0]}`?" if near else "docs/settings.md and dh-bridge config schema describe every setting"
    )
    return SettingsError(f"`{key}` {message}{shown}", where=where, now=now)


def known_keys(model: type[BaseModel] | None, step: str) -> str:
    """Return the advice for an unknown key: the nearest known one, or all of them."""
    known = sorted(names(model)) if model is not None else []
    near = difflib.get_close_matches(step, known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known)}"


def _divided(steps: Steps, where: str, model: type[BaseModel] | None) -> str:
    """Return the advice for a variable that has one underscore between an area and its field."""
    step, variable = str(steps[-1]), where.removeprefix("env ")
    for name in names(model) if model is not None and variable != where else ():
        if step.startswith(f"{name}_") and area(annotation_at(Settings, (*steps[:-1], name))) is not None:
            field = len(name) + 1 - len(step)
            return f"did you mean `{variable[: field - 1]}__{variable[field:]}`?"
    return ""


def _may_be_shown(steps: Steps, value: Any) -> bool:
    """Whether the value is no secret: a text where a mapping is wanted may be one that was mistyped, with secrets in it."""
    if isinstance(value, dict | list) or is_secret(dotted(steps), value):
        return False
    return is_simple(annotation_at(Settings, steps))


def _cut(steps: Steps) -> str:
    """Return the key without a value that has slipped into it: without a space ``{token:abc}`` is one key to YAML."""
    last = steps[-1] if steps else None
    return dotted((*steps[:-1], _BEHIND.sub("…", last)) if isinstance(last, str) else steps)


def _where(steps: Steps, given: Mapping[Steps, Given]) -> str:
    """Return the place of the longest known part of the path: its own line in a file, else what gave it."""
    paths = [steps[:length] for length in range(len(steps), 0, -1)]
    one = next((given[path] for path in paths if path in given), None)
    one = one or next((other for path, other in given.items() if path[: len(steps)] == steps), None)
    if one is None:
        return "settings"
    line = next((one.lines[path] for path in paths if path in one.lines), None)
    return f"{one.origin.rsplit(':', 1)[0]}:{line}" if line is not None else one.origin
