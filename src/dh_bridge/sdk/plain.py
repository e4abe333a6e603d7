"""Converts Python values to JSON: numbers of numpy, times of pandas, decimals, sets, and any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def to_plain(value: Any) -> Any:
    """Return ``value`` made of dicts, lists, texts, numbers, booleans and None alone.

    Sets are sorted, times and dates are ISO 8601, a decimal is its text, so no digit is lost. Values of numpy, pandas and
    polars are read by their own ``tolist``; missing values (NaT, NA) are None. Any other object becomes its text or, if its
    text is an address, the name of its type.
    """
    if isinstance(value, Mapping):
        return {key if type(key) is str else str(to_plain(key)): to_plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(member) for member in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(to_plain, value), key=repr)
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_convert_foreign)
    except (TypeError, ValueError, RecursionError):  # an object with members that have no names in JSON
        return _describe(value)


def _convert_foreign(value: Any) -> Any:
    """Return a value of a type that msgspec does not support as one that it supports."""
    if isinstance(value, str):
        return str(value)
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if callable(format_time := getattr(value, "isoformat", None)):  # pandas' Timestamp
        return str(format_time()).replace("+00:00", "Z")
    if getattr(getattr(value, "dtype", None), "kind", None) in ("M", "m"):  # `tolist` makes numbers of numpy's times
        value = value.astype(str)
    if callable(list_members := getattr(value, "tolist", None)):
        return to_plain(list_members())
    return _describe(value)


def _describe(value: Any) -> str:
    kind: Any = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:  # the text would be an address
        return f"{kind.__module__}.{kind.__qualname__}"
    return str(value)
