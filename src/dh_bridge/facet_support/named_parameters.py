"""Named parameters of a run: environment variables and execution parameters, one property for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.model.properties import present_property_text
from dh_bridge.redaction import REDACTED, STRICT, mask_values

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_MAX_PROPERTIES = 100
_MAX_NAME_CHARS = 200


class NamedParameter(msgspec.Struct, frozen=True, gc=False):
    """A name and its value (JSON if it is not a text).

    ``path`` is the location of the pair in the facet, ``name_field`` the field of its name.
    """

    path: str
    name_field: str
    name: str | None
    value: Any


def named_parameter_properties(prefix: str, parameters: list[NamedParameter], ctx: FacetContext) -> dict[str, str]:
    """Return ``<prefix>.<name>`` -> value of the first 100 names; others are noted, and counted in ``<prefix>.more``.

    Secrets are masked; ``redaction: strict`` masks all values. If two pairs have the same name, the later one is used.
    """
    parameters_by_name: dict[str, NamedParameter] = {}
    for parameter in parameters:
        if not parameter.name:
            ctx.note_dropped(parameter.path, "malformed")
        elif len(parameter.name) > _MAX_NAME_CHARS:
            ctx.note_dropped(parameter.path, "too-large")
        else:
            earlier = parameters_by_name.get(parameter.name)
            if earlier is not None:
                ctx.note_dropped(earlier.path, f"duplicate-of:{parameter.path}.{parameter.name_field}")
            parameters_by_name[parameter.name] = parameter
    names = sorted(parameters_by_name)
    properties: dict[str, str] = {}
    for name in names[:_MAX_PROPERTIES]:
        key = f"{prefix}.{name}"
        properties[key] = _value_text(key, parameters_by_name[name], ctx)
    for name in names[_MAX_PROPERTIES:]:
        ctx.note_dropped(parameters_by_name[name].path, "too-large")
    if len(names) > _MAX_PROPERTIES:
        properties[f"{prefix}.more"] = str(len(names) - _MAX_PROPERTIES)
    return properties


def configuration(values: dict[str, Any], path: str, ctx: FacetContext) -> dict[str, Any]:
    """Return an open map of settings at ``path`` of the facet; ``redaction: strict`` masks its values, with notes."""
    if ctx.options.settings.redaction != STRICT:
        return values
    redacted_values = mask_values(values)
    for name, value in redacted_values.items():
        if value is REDACTED:
            ctx.note_dropped(f"{path}.{name}" if path else name, "policy:redaction")
    return redacted_values


def _value_text(key: str, parameter: NamedParameter, ctx: FacetContext) -> str:
    if parameter.value in (None, "", [], {}):
        return ""
    if ctx.options.settings.redaction == STRICT:
        ctx.note_dropped(f"{parameter.path}.value", "policy:redaction")
        return REDACTED
    text = present_property_text(key, parameter.value)
    if text == REDACTED:
        ctx.note_dropped(f"{parameter.path}.value", "secret")
    return text
