"""The aspect of a proposal as DataHub's doors take it: JSON text in a GenericAspect, with its content type.

The text is ASCII: REST declares it as bytes, and Pegasus reads a character above 0xFF of such a text as an error, one above
0x7F as a byte. Sinks of all doors share this; only NDJSON, which is our own, keeps values as they are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from dh_bridge.datahub.profiles import profile

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"

_SOURCE = "attribution\u241fsource"
_KEYS = {
    "globalTags": ("tags", [_SOURCE, "tag"], 1),
    "glossaryTerms": ("terms", ["urn", _SOURCE], 1),
    "ownership": ("owners", ["owner", "type", "typeUrn", _SOURCE], 2),
}
"""Aspect -> the array that is keyed, by what since 1.5, and how many keys our paths name: owner and type, of tags the tag."""

_UNSAID = (_SOURCE, "typeUrn")
"""Keys of the server's that our paths do not name."""

_KEYED_SINCE = (1, 5)


def keyed_patches(version: str | None) -> bool:
    """Say whether a server of that version wants tags and owners patched with their keys, as `patches.KEYED` tells."""
    return version is not None and profile(version).at_least(*_KEYED_SINCE)


def aspect_text(proposal: Proposal, *, keyed: bool = False) -> tuple[bytes, str]:
    """Return the aspect as ASCII JSON, and its content type; ``keyed``: as :func:`keyed_patches` says of the server.

    A TypeError or ValueError when the value is no JSON: not a number, a lone surrogate.
    """
    if proposal.change_type != "PATCH":
        return ascii_json(proposal.value), JSON
    return ascii_json(patch_body(proposal.aspect_name, proposal.value, keyed=keyed)), JSON_PATCH


def patch_body(aspect_name: str, operations: list[dict[str, Any]], *, keyed: bool) -> Any:
    """Return what a PATCH holds: the operations, or with their keys where the server's own keys are others than ours.

    Since 1.5 DataHub keys tags, terms and owners by who attributed them, too; nobody attributed ours.
    """
    found = _KEYS.get(aspect_name) if keyed else None
    if found is None:
        return operations
    field, names, ours = found
    return {
        "arrayPrimaryKeys": {field: names},
        "patch": [{**one, "path": _path(one, field, names, ours)} for one in operations],
    }


def operations(aspect_name: str, body: Any) -> Any:
    """Return the operations of a PATCH that :func:`patch_body` made, without the keys that we do not name."""
    found = _KEYS.get(aspect_name)
    if found is None or not isinstance(body, dict):
        return body
    field, names, ours = found
    return [{**one, "path": _own_path(one["path"], field, names, ours)} for one in body["patch"]]


def _own_path(path: str, field: str, names: list[str], ours: int) -> str:
    _, first, *said = path.split("/")
    if first != field or len(said) != len(names):
        return path
    kept = [step for name, step in zip(names, said, strict=True) if name not in _UNSAID]
    return "/".join(["", field, *kept[:ours]])


def _path(operation: dict[str, Any], field: str, names: list[str], ours: int) -> str:
    """Return the path (``/tags/urn:li:tag:x``) with a step for each key, empty where the value has none."""
    path: str = operation["path"]
    _, first, *said = path.split("/")
    if first != field or len(said) != ours:
        return path
    steps = iter(said)
    type_urn = (operation.get("value") or {}).get("typeUrn") or ""
    unsaid = {_SOURCE: "", "typeUrn": type_urn.replace("~", "~0").replace("/", "~1")}
    return "/".join(["", field, *(unsaid[name] if name in unsaid else next(steps) for name in names)])


def ascii_json(value: Any) -> bytes:
    """Return compact JSON in ASCII."""
    text = orjson.dumps(value)
    if text.isascii():
        return text
    return json.dumps(value, separators=(",", ":")).encode("ascii")
