"""32-bit floats: what a server has of a number that it was sent, so that the same number is no change.

Avro's ``float`` has 32 bits in DataHub's server (``nullProportion``), its ``double`` 64: a third comes back as 0.33333334.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from dh_bridge.datahub import schemas
from dh_bridge.datahub.schema_trees import SchemaTree, compile_tree

_SINGLE = struct.Struct("<f")


def round_floats(aspect_name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return an aspect with its 32-bit floats as a server keeps them; the same object where it has none."""
    tree = _float_tree(aspect_name)
    rounded: dict[str, Any] = value if tree is None else tree.map_values(value, _round_float)
    return rounded


def _round_float(number: Any, _path: str) -> Any:
    """Return a number as a 32-bit float; one that none can hold, and what is no number, as it is."""
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
