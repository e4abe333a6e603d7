"""Lenient types: converts the JSON of a facet to the types of its Struct, and drops only the fields that cannot be converted."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from dh_bridge.msgspec_threads import prepare_type

_NUMBERS = (inspect.IntType, inspect.FloatType)
_POSITION = re.compile(r"\[(\d+)\]")
UNUSABLE = object()


class Repairs:
    """The record of a repair: ``extra`` fields that the Struct does not have, and ``malformed`` fields that were dropped.

    ``original_positions``: for each shortened list, by its path, the original positions of the remaining entries.
    Without a report (``records_paths``) the number of dropped fields is enough: the paths need more memory than the facet.
    """

    __slots__ = ("extra", "lost_count", "malformed", "original_positions", "records_paths")

    def __init__(self, *, records_paths: bool = True) -> None:
        self.extra: list[tuple[str, Any]] = []
        self.malformed: list[str] = []
        self.original_positions: dict[str, list[int]] = {}
        self.lost_count = 0
        self.records_paths = records_paths

    def drop(self, path: str) -> None:
        """Record a field that is dropped."""
        self.lost_count += 1
        if self.records_paths:
            self.malformed.append(path)

    def original_path(self, path: str) -> str:
        """Return the original path of a field of the repaired facet."""
        original, end = "", 0
        for match in _POSITION.finditer(path):
            original += path[end : match.start()]
            positions, number = self.original_positions.get(original), int(match[1])
            original += f"[{positions[number]}]" if positions is not None and number < len(positions) else match[0]
            end = match.end()
        return original + path[end:]


@lru_cache(maxsize=512)
def _shape(struct: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(prepare_type(struct))


def repair(document: Any, struct: type[msgspec.Struct], repairs: Repairs) -> Any:
    """Return ``document`` as ``struct``, or UNUSABLE; fields that were dropped or are unknown are in ``repairs``."""
    value = _repair(document, _shape(struct), "", repairs)
    if value is UNUSABLE:
        return UNUSABLE
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError:
        repairs.drop("")
        return UNUSABLE


def _repair(value: Any, shape: inspect.Type, path: str, repairs: Repairs) -> Any:
    if isinstance(shape, inspect.UnionType):
        return _repair_union(value, shape, path, repairs)
    if isinstance(shape, inspect.StructType):
        return _repair_object(value, shape, path, repairs)
    if isinstance(shape, inspect.ListType):
        return _repair_list(value, shape, path, repairs)
    if isinstance(shape, inspect.DictType):
        return _repair_map(value, shape, path, repairs)
    scalar = _scalar(value, shape)
    if scalar is UNUSABLE:
        repairs.drop(path)
    return scalar


def _scalar(value: Any, shape: inspect.Type) -> Any:
    if isinstance(shape, (inspect.AnyType, inspect.RawType)):
        return value
    if isinstance(shape, inspect.StrType):
        return _text(value)
    if isinstance(shape, inspect.BoolType):
        text = value.lower() if isinstance(value, str) else value
        return (
            {"true": True, "false": False}.get(text, UNUSABLE)
            if isinstance(text, str)
            else _instance_or_unusable(value, bool)
        )
    if isinstance(shape, _NUMBERS):
        return _number(value, integer_only=isinstance(shape, inspect.IntType))
    return UNUSABLE


def _text(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return msgspec.json.encode(value).decode()
    return _instance_or_unusable(value, str)


def text_of(value: Any) -> str:
    """Return a JSON value as text, numbers as they are written; "" for other types."""
    text = _text(value)
    return "" if text is UNUSABLE else text


def integer_of(value: Any) -> int | None:
    """Return a JSON value as an integer, from a number or a text; None for other values."""
    number = _number(value, integer_only=True)
    return None if number is UNUSABLE else number


def _instance_or_unusable(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) else UNUSABLE


def _number(value: Any, *, integer_only: bool) -> Any:
    if isinstance(value, str):
        try:
            value = float(value) if any(char in value for char in ".eEnN") else int(value)
        except ValueError:
            return UNUSABLE
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return UNUSABLE
    if isinstance(value, float) and not math.isfinite(value):
        return UNUSABLE
    if integer_only and isinstance(value, float):
        return int(value) if value.is_integer() else UNUSABLE
    return value


def _repair_union(value: Any, shape: inspect.UnionType, path: str, repairs: Repairs) -> Any:
    members = [member for member in shape.types if not isinstance(member, inspect.NoneType)]
    if value is None and len(members) < len(shape.types):
        return None
    for member in members[:-1]:
        attempt = Repairs(records_paths=False)
        candidate = _repair(value, member, path, attempt)
        if candidate is not UNUSABLE and not attempt.lost_count:
            repairs.extra += attempt.extra
            return candidate
    candidate = _repair(value, members[-1], path, repairs)
    return None if candidate is UNUSABLE and len(members) < len(shape.types) else candidate


def _repair_object(value: Any, shape: inspect.StructType, path: str, repairs: Repairs) -> Any:
    if not isinstance(value, dict):
        repairs.drop(path)
        return UNUSABLE
    fields = {field.encode_name: field for field in shape.fields}
    members: dict[str, Any] = {}
    for key, member in value.items():
        member_path = f"{path}.{key}" if path else key
        field = fields.get(key)
        if field is None:
            repairs.extra.append((member_path, member))
            continue
        if member is None and not field.required:
            continue
        candidate = _repair(member, field.type, member_path, repairs)
        if candidate is not UNUSABLE:
            members[key] = candidate
    if any(field.required and name not in members for name, field in fields.items()):
        repairs.drop(path)
        return UNUSABLE
    return members


def _repair_list(value: Any, shape: inspect.ListType, path: str, repairs: Repairs) -> Any:
    if not isinstance(value, list):
        repairs.drop(path)
        return UNUSABLE
    candidates = [
        _repair(member, shape.item_type, f"{path}[{position}]", repairs) for position, member in enumerate(value)
    ]
    members = [member for member in candidates if member is not UNUSABLE]
    if repairs.records_paths and len(members) < len(candidates):
        repairs.original_positions[path] = [
            position for position, member in enumerate(candidates) if member is not UNUSABLE
        ]
    return members


def _repair_map(value: Any, shape: inspect.DictType, path: str, repairs: Repairs) -> Any:
    if not isinstance(value, dict):
        repairs.drop(path)
        return UNUSABLE
    members = {key: _repair(member, shape.value_type, f"{path}.{key}", repairs) for key, member in value.items()}
    return {key: member for key, member in members.items() if member is not UNUSABLE}
