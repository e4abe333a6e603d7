"""The aspect of a proposal in the form of DataHub's APIs: JSON text in a GenericAspect, with its content type.

The text is ASCII: REST declares it as bytes, and Pegasus reads a character above 0xFF of such a text as an error, one above
0x7F as a byte. Sinks of all doors share this; only NDJSON, which is our own, keeps values as they are.
"""

from __future__ import annotations

import json
import re
from typing import Any, Protocol

import msgspec
import orjson

from dh_bridge.datahub.versions import parse_version

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"

_SOURCE = "attribution\u241fsource"
_KEYS = {
    "globalTags": ("tags", [_SOURCE, "tag"], 1),
    "glossaryTerms": ("terms", ["urn", _SOURCE], 1),
    "ownership": ("owners", ["owner", "type", "typeUrn", _SOURCE], 2),
}
"""Aspect -> its keyed array, the server's keys since 1.5.0.5, and how many of them a path of a proposal names."""

_IMPLIED_KEYS = (_SOURCE, "typeUrn")
"""Keys of the server that the paths of proposals do not name."""

_COLUMN_TAGS = "editableSchemaMetadata"
_COLUMN_TAG_PATH = re.compile(r"/editableSchemaFieldInfo/[^/]*/globalTags/tags/[^/]+").fullmatch

_KEYED_MIN_VERSION = (1, 5, 0, 5)
"""The first release with attribution in its keys (datahub-project/datahub#16906, 7 April 2026); acryl-datahub follows it."""

KEYED_ASPECTS = frozenset([*_KEYS, _COLUMN_TAGS])
"""Aspects whose patches have two forms, plain and keyed; a server takes one of them and refuses the other."""


def keyed_patches(version: str | None) -> bool:
    """Return whether a server of a version accepts the keyed form of patches; without a version, whether the newest one does.

    A version of two numbers, such as ``1.5``, means the last release of its line, as the profile of that name does.
    """
    parts = None if version is None else parse_version(version)
    return parts is None or parts >= (_KEYED_MIN_VERSION if len(parts) > 2 else _KEYED_MIN_VERSION[:2])


class ProposalFields(Protocol):
    """The fields of a proposal that are sent. :class:`~dh_bridge.datahub.proposal.Proposal` has them."""

    @property
    def entity_type(self) -> str:
        """The type of the entity, for example ``dataset``."""
        ...

    @property
    def entity_urn(self) -> str:
        """The URN of the entity."""
        ...

    @property
    def change_type(self) -> str:
        """UPSERT, CREATE or PATCH."""
        ...

    @property
    def aspect_name(self) -> str:
        """The name of the aspect, for example ``datasetProperties``."""
        ...

    @property
    def value(self) -> Any:
        """The JSON value of the aspect, or the list of patch operations."""
        ...


class PatchForms(msgspec.Struct):
    """The form of patches that a server accepts for each aspect: from its version, unless its responses showed another form.

    Args:
        version: the server's version; None if it is unknown.
        learned: aspect -> whether the server accepts the keyed form, if it rejected the form of its version.
    """

    version: str | None = None
    learned: dict[str, bool] = {}

    def is_keyed(self, aspect_name: str) -> bool:
        """Return whether patches of the aspect are written in the keyed form."""
        return self.learned.get(aspect_name, keyed_patches(self.version))


def aspect_text(proposal: ProposalFields, *, keyed: bool) -> tuple[bytes, str]:
    """Return the aspect as ASCII JSON, and its content type.

    Args:
        proposal: the proposal; only a PATCH depends on ``keyed``.
        keyed: whether the server takes the keyed form of this aspect's patches (:func:`keyed_patches`).

    Raises:
        TypeError: the value is no JSON.
        ValueError: the value is no JSON, for example a lone surrogate.
    """
    if proposal.change_type != "PATCH":
        return ascii_json(proposal.value), JSON
    return ascii_json(patch_value(proposal.aspect_name, proposal.value, keyed=keyed)), JSON_PATCH


def patch_value(aspect_name: str, operations: list[dict[str, Any]], *, keyed: bool) -> Any:
    """Return the body of a PATCH: the operations alone, or in the keyed form.

    The keyed form names the source of an attribution, which entries of the bridge do not have: owners, tags and terms get
    ``arrayPrimaryKeys`` and an empty step for each key without a value, tags of columns an empty last step.
    """
    if not keyed:
        return operations
    if aspect_name == _COLUMN_TAGS:
        return [
            {**operation, "path": operation["path"] + "/"} if _COLUMN_TAG_PATH(operation["path"]) else operation
            for operation in operations
        ]
    if (array := _KEYS.get(aspect_name)) is None:
        return operations
    field, keys, path_key_count = array
    return {
        "arrayPrimaryKeys": {field: keys},
        "patch": [
            {**operation, "path": _keyed_path(operation, field, keys, path_key_count)} for operation in operations
        ],
    }


def plain_operations(aspect_name: str, patch: Any) -> Any:
    """Return the operations of a PATCH in the plain form: the reverse of :func:`patch_value`."""
    if aspect_name == _COLUMN_TAGS and isinstance(patch, list):
        return [
            {**operation, "path": path[:-1]}
            if (path := operation["path"]).endswith("/") and _COLUMN_TAG_PATH(path[:-1])
            else operation
            for operation in patch
        ]
    if (array := _KEYS.get(aspect_name)) is None or not isinstance(patch, dict):
        return patch
    field, keys, path_key_count = array
    return [
        {**operation, "path": _plain_path(operation["path"], field, keys, path_key_count)}
        for operation in patch["patch"]
    ]


def _plain_path(path: str, field: str, keys: list[str], path_key_count: int) -> str:
    _, first, *steps = path.split("/")
    if first != field or len(steps) != len(keys):
        return path
    explicit_steps = [step for key, step in zip(keys, steps, strict=True) if key not in _IMPLIED_KEYS]
    return "/".join(["", field, *explicit_steps[:path_key_count]])


def _keyed_path(operation: dict[str, Any], field: str, keys: list[str], path_key_count: int) -> str:
    """Return the path (``/tags/urn:li:tag:x``) with a step for each key; a missing key is an empty step."""
    path: str = operation["path"]
    _, first, *path_steps = path.split("/")
    if first != field or len(path_steps) != path_key_count:
        return path
    steps = iter(path_steps)
    type_urn = (operation.get("value") or {}).get("typeUrn") or ""
    implied = {_SOURCE: "", "typeUrn": type_urn.replace("~", "~0").replace("/", "~1")}
    return "/".join(["", field, *(implied[key] if key in implied else next(steps) for key in keys)])


def ascii_json(value: Any) -> bytes:
    """Return compact JSON in ASCII."""
    text = orjson.dumps(value)
    if text.isascii():
        return text
    return json.dumps(value, separators=(",", ":")).encode("ascii")
