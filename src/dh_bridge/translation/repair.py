"""Lenient types: a facet's JSON bent into the shape that its Struct wants, one bad leaf at a time."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from dh_bridge.msgspec_threads import prepared

_NUMBERS = (inspect.IntType, inspect.FloatType)
_POSITION = re.compile(r"\[(\d+)\]")
UNUSABLE = object()


class Mending:
    """What was mended: ``extra`` leaves that the Struct does not know, and ``malformed`` leaves that had to go.

    ``stayed``: of lists that are shorter now, where the entries that stayed stood before, by the path of the list.
    Where nobody asks for the leaves (``noted``), how many had to go is enough: their paths take more than what is mended.
    """

    __slots__ = ("extra", "lost", "malformed", "noted", "stayed")

    def __init__(self, *, noted: bool = True) -> None:
        self.extra: list[tuple[str, Any]] = []
        self.malformed: list[str] = []
        self.stayed: dict[str, list[int]] = {}
        self.lost = 0
        self.noted = noted

    def lose(self, path: str) -> None:
        """Note a leaf that had to go."""
        self.lost += 1
        if self.noted:
            self.malformed.append(path)

    def before(self, path: str) -> str:
        """Return where a leaf of what was mended stood before."""
        found, end = "", 0
        for position in _POSITION.finditer(path):
            found += path[end : position.start()]
            stayed, number = self.stayed.get(found), int(position[1])
            found += f"[{stayed[number]}]" if stayed is not None and number < len(stayed) else position[0]
            end = position.end()
        return found + path[end:]


@lru_cache(maxsize=512)
def _shape(struct: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(prepared(struct))


def mended(document: Any, struct: type[msgspec.Struct], mending: Mending) -> Any:
    """Return ``document`` in the shape of ``struct``, or UNUSABLE; what was lost or left over is in ``mending``."""
    value = _mend(document, _shape(struct), "", mending)
    if value is UNUSABLE:
        return UNUSABLE
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError:
        mending.lose("")
        return UNUSABLE


def _mend(value: Any, shape: inspect.Type, path: str, mending: Mending) -> Any:
    if isinstance(shape, inspect.UnionType):
        return _mend_union(value, shape, path, mending)
    if isinstance(shape, inspect.StructType):
        return _mend_object(value, shape, path, mending)
    if isinstance(shape, inspect.ListType):
        return _mend_list(value, shape, path, mending)
    if isinstance(shape, inspect.DictType):
        return _mend_map(value, shape, path, mending)
    found = _scalar(value, shape)
    if found is UNUSABLE:
        mending.lose(path)
    return found


def _scalar(value: Any, shape: inspect.Type) -> Any:
    if isinstance(shape, (inspect.AnyType, inspect.RawType)):
        return value
    if isinstance(shape, inspect.StrType):
        return _text(value)
    if isinstance(shape, inspect.BoolType):
        word = value.lower() if isinstance(value, str) else value
        return {"true": True, "false": False}.get(word, UNUSABLE) if isinstance(word, str) else _only(value, bool)
    if isinstance(shape, _NUMBERS):
        return _number(value, whole=isinstance(shape, inspect.IntType))
    return UNUSABLE


def _text(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return msgspec.json.encode(value).decode()
    return _only(value, str)


def text_of(value: Any) -> str:
    """Return what a facet that is read as plain JSON says as text, a number as it is written; "" for what is neither."""
    found = _text(value)
    return "" if found is UNUSABLE else found


def whole_of(value: Any) -> int | None:
    """Return a whole number that such a facet says, in figures or as text; None for what is none."""
    found = _number(value, whole=True)
    return None if found is UNUSABLE else found


def _only(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) else UNUSABLE


def _number(value: Any, *, whole: bool) -> Any:
    if isinstance(value, str):
        try:
            value = float(value) if any(mark in value for mark in ".eEnN") else int(value)
        except ValueError:
            return UNUSABLE
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return UNUSABLE
    if isinstance(value, float) and not math.isfinite(value):
        return UNUSABLE
    if whole and isinstance(value, float):
        return int(value) if value.is_integer() else UNUSABLE
    return value


def _mend_union(value: Any, shape: inspect.UnionType, path: str, mending: Mending) -> Any:
    members = [member for member in shape.types if not isinstance(member, inspect.NoneType)]
    if value is None and len(members) < len(shape.types):
        return None
    for member in members[:-1]:
        attempt = Mending(noted=False)
        found = _mend(value, member, path, attempt)
        if found is not UNUSABLE and not attempt.lost:
            mending.extra += attempt.extra
            return found
    found = _mend(value, members[-1], path, mending)
    return None if found is UNUSABLE and len(members) < len(shape.types) else found


def _mend_object(value: Any, shape: inspect.StructType, path: str, mending: Mending) -> Any:
    if not isinstance(value, dict):
        mending.lose(path)
        return UNUSABLE
    fields = {field.encode_name: field for field in shape.fields}
    left: dict[str, Any] = {}
    for key, member in value.items():
        here = f"{path}.{key}" if path else key
        field = fields.get(key)
        if field is None:
            mending.extra.append((here, member))
            continue
        if member is None and not field.required:
            continue
        found = _mend(member, field.type, here, mending)
        if found is not UNUSABLE:
            left[key] = found
    if any(field.required and name not in left for name, field in fields.items()):
        mending.lose(path)
        return UNUSABLE
    return left


def _mend_list(value: Any, shape: inspect.ListType, path: str, mending: Mending) -> Any:
    if not isinstance(value, list):
        mending.lose(path)
        return UNUSABLE
    found = [_mend(member, shape.item_type, f"{path}[{position}]", mending) for position, member in enumerate(value)]
    left = [member for member in found if member is not UNUSABLE]
    if mending.noted and len(left) < len(found):
        mending.stayed[path] = [position for position, member in enumerate(found) if member is not UNUSABLE]
    return left


def _mend_map(value: Any, shape: inspect.DictType, path: str, mending: Mending) -> Any:
    if not isinstance(value, dict):
        mending.lose(path)
        return UNUSABLE
    found = {key: _mend(member, shape.value_type, f"{path}.{key}", mending) for key, member in value.items()}
    return {key: member for key, member in found.items() if member is not UNUSABLE}
