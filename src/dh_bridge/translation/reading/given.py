"""What a run was given by name: environment variables and execution parameters, a property each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.redaction import REDACTED, STRICT, names_only
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_MOST = 100
_LONGEST_NAME = 200


class Given(msgspec.Struct, frozen=True, gc=False):
    """A name and its value, JSON where it is no text; ``path`` is where the pair stands in the facet, ``leaf`` what the name is called there."""

    path: str
    leaf: str
    name: str | None
    value: Any


def given_properties(prefix: str, pairs: list[Given], at: Place) -> dict[str, str]:
    """Return ``<prefix>.<name>`` -> value of the first 100 names; what is left out is noted, and counted in ``<prefix>.more``.

    Secrets are masked; with ``redaction: strict`` only the names are kept. Of two pairs with one name the later counts.
    """
    found: dict[str, Given] = {}
    for one in pairs:
        if not one.name:
            at.withheld(one.path, "malformed")
        elif len(one.name) > _LONGEST_NAME:
            at.withheld(one.path, "too-large")
        else:
            earlier = found.get(one.name)
            if earlier is not None:
                at.withheld(earlier.path, f"duplicate-of:{one.path}.{one.leaf}")
            found[one.name] = one
    chosen = sorted(found)
    properties: dict[str, str] = {}
    for name in chosen[:_MOST]:
        key = f"{prefix}.{name}"
        properties[key] = _value(key, found[name], at)
    for name in chosen[_MOST:]:
        at.withheld(found[name].path, "too-large")
    if len(chosen) > _MOST:
        properties[f"{prefix}.more"] = str(len(chosen) - _MOST)
    return properties


def configuration(values: dict[str, Any], path: str, at: Place) -> dict[str, Any]:
    """Return an open map of settings at ``path`` of the facet; with ``redaction: strict`` its names only, noted."""
    if at.options.settings.redaction != STRICT:
        return values
    found = names_only(values)
    for name, value in found.items():
        if value is REDACTED:
            at.withheld(f"{path}.{name}" if path else name, "policy:redaction")
    return found


def _value(key: str, one: Given, at: Place) -> str:
    if one.value in (None, "", [], {}):
        return ""
    if at.options.settings.redaction == STRICT:
        at.withheld(f"{one.path}.value", "policy:redaction")
        return REDACTED
    written = worded(key, one.value)
    if written == REDACTED:
        at.withheld(f"{one.path}.value", "secret")
    return written
