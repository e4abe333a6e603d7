"""Converts errors of setting values to SettingsErrors: the key, the location of the value, the most similar known key."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings
from dh_bridge.settings.introspection import (
    annotation_at,
    field_annotations,
    is_secret,
    is_simple,
    mask_secrets,
    model_of,
)
from dh_bridge.settings.yaml_source import Steps, format_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

_TYPE_MESSAGES = {
    "tuple_type": "should be a list",
    "model_type": "should be a mapping of settings",
    "model_attributes_type": "should be a mapping of settings",
    "dict_type": "should be a mapping",
}
"""Kinds of errors -> the expected type in plain words: files do not contain tuples."""
_VALUE_PART = re.compile(r"(?<=[:=]).+", re.DOTALL)


class SettingValue(NamedTuple):
    """A setting's value, its location (``dh_bridge.yml:3``, ``env NAME``, ``flag --name``), and the lines of its file."""

    value: Any
    origin: str
    lines: Mapping[Steps, int] = {}


def to_settings_error(error: dict[str, Any], setting_values: Mapping[Steps, SettingValue]) -> SettingsError:
    """Convert one of pydantic's errors."""
    steps: Steps = error["loc"]
    location = _location_of(steps, setting_values)
    value = error.get("input")
    if error["type"] == "extra_forbidden":
        model = model_of(annotation_at(Settings, steps[:-1])) if steps[:-1] else Settings
        remedy = _separator_advice(steps, location, model) or known_keys_advice(model, str(steps[-1]))
        return SettingsError(f"unknown key `{_key_without_value(steps)}`", location=location, remedy=remedy)
    key = format_path(steps) if value is not None else _key_without_value(steps)
    value_text = f", not {mask_secrets(key, value)!r}" if _is_showable(steps, value) else ""
    message = error["msg"].removeprefix("Input ").removeprefix("String ").removeprefix("Value error, ")
    message = _TYPE_MESSAGES.get(error["type"], message)
    choices = str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").replace("'", "").split(", ")
    suggestions = difflib.get_close_matches(str(value), choices, n=1) if error["type"] == "literal_error" else []
    remedy = (
        f"did you mean `{suggestions[0]}`?"
        if suggestions
        else "docs/settings.md and dh-bridge config schema describe every setting"
    )
    return SettingsError(f"`{key}` {message}{value_text}", location=location, remedy=remedy)


def known_keys_advice(model: type[BaseModel] | None, step: str) -> str:
    """Return the advice for an unknown key: the nearest known one, or all of them."""
    known_names = sorted(field_annotations(model)) if model is not None else []
    suggestions = difflib.get_close_matches(step, known_names, n=1, cutoff=0.5)
    return f"did you mean `{suggestions[0]}`?" if suggestions else f"known here: {', '.join(known_names)}"


def _separator_advice(steps: Steps, location: str, model: type[BaseModel] | None) -> str:
    """Return the advice for a variable that has one underscore between an area and its field."""
    step, variable = str(steps[-1]), location.removeprefix("env ")
    for name in field_annotations(model) if model is not None and variable != location else ():
        if step.startswith(f"{name}_") and model_of(annotation_at(Settings, (*steps[:-1], name))) is not None:
            field = len(name) + 1 - len(step)
            return f"did you mean `{variable[: field - 1]}__{variable[field:]}`?"
    return ""


def _is_showable(steps: Steps, value: Any) -> bool:
    """Whether the value is no secret: a text where a mapping is wanted may be one that was mistyped, with secrets in it."""
    if isinstance(value, dict | list) or is_secret(format_path(steps), value):
        return False
    return is_simple(annotation_at(Settings, steps))


def _key_without_value(steps: Steps) -> str:
    """Return the key without a value that has slipped into it: without a space ``{token:abc}`` is one key to YAML."""
    last_step = steps[-1] if steps else None
    return format_path((*steps[:-1], _VALUE_PART.sub("…", last_step)) if isinstance(last_step, str) else steps)


def _location_of(steps: Steps, setting_values: Mapping[Steps, SettingValue]) -> str:
    """Return the location of the longest known part of the path: its line in a file, else the source of the value."""
    paths = [steps[:length] for length in range(len(steps), 0, -1)]
    setting_value = next((setting_values[path] for path in paths if path in setting_values), None)
    setting_value = setting_value or next(
        (inner_value for path, inner_value in setting_values.items() if path[: len(steps)] == steps), None
    )
    if setting_value is None:
        return "settings"
    line = next((setting_value.lines[path] for path in paths if path in setting_value.lines), None)
    return f"{setting_value.origin.rsplit(':', 1)[0]}:{line}" if line is not None else setting_value.origin
