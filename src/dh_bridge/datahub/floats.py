"""32-bit floats: rounds numbers as a server stores them, so that an equal number is not a change.

In DataHub's server, Avro's ``float`` has 32 bits (``nullProportion``), its ``double`` 64: a third is read back as 0.33333334.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from dh_bridge.datahub import schemas
from dh_bridge.datahub.schema_trees import SchemaTree, compile_tree

_SINGLE = struct.Struct("<f")


def round_floats(aspect_name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return an aspect with its 32-bit floats as a server stores them; the same object if it has none."""
    tree = _float_tree(aspect_name)
    rounded: dict[str, Any] = value if tree is None else tree.map_values(value, _round_float)
    return rounded


def _round_float(number: Any, _path: str) -> Any:
    """Return a number as a 32-bit float; other values, and numbers out of range, are returned unchanged."""
    if type(number) not in (float, int):
        return number
    try:
        return _SINGLE.unpack(_SINGLE.pack(number))[0]
    except (OverflowError, struct.error):
        return number


@cache
def _float_tree(aspect_name: str) -> SchemaTree | None:
    schema = schemas.aspect_schema(schemas.profile_versions()[-1], aspect_name)
    return None if schema is None else compile_tree(schema, lambda _, kind: kind == "float")
