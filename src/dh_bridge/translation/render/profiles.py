"""The numbers of a datasetProfile, from metrics by source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.reading.statistics import MOST_COLUMNS, MOST_QUANTILES, share_of

if TYPE_CHECKING:
    from dh_bridge.translation.merge import Cell

_encode = msgspec.json.Encoder().encode


def profile_value(metrics: dict[Any, Cell]) -> dict[str, Any]:
    """Return rowCount, sizeInBytes and fieldProfiles, as far as they were measured; the source of lower rank wins."""
    columns: dict[str, dict[str, Any]] = {}
    found: dict[str, Any] = {}
    for key in sorted(metrics, key=_last_first):
        measured = metrics[key][1]
        if key[1] == "column":
            columns.setdefault(key[2], {})[key[3]] = measured
        elif key[1] == "quantile":
            columns.setdefault(key[2], {}).setdefault("quantiles", {})[key[3]] = measured
        else:
            found[key[1]] = measured
    if columns:
        rows = found.get("rowCount")
        found["fieldProfiles"] = [_field_profile(name, columns[name], rows) for name in sorted(columns)[:MOST_COLUMNS]]
    return found


def _last_first(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return (-key[0], *map(str, key[1:]))


def _field_profile(column: str, measured: dict[str, Any], rows: int | None) -> dict[str, Any]:
    """Return one DatasetFieldProfile, in Avro field order; ``distinctCount`` is DataHub's uniqueCount."""
    nulls, distinct, count = (measured.get(leaf) for leaf in ("nullCount", "distinctCount", "count"))
    present = count if count is not None else rows - nulls if rows is not None and nulls is not None else None
    found: dict[str, Any] = {"fieldPath": column}
    if distinct is not None:
        found["uniqueCount"] = distinct
        if (share := _share(distinct, present)) is not None:
            found["uniqueProportion"] = share
    if nulls is not None:
        found["nullCount"] = nulls
        if (share := _share(nulls, rows)) is not None:
            found["nullProportion"] = share
    for leaf in ("min", "max"):
        if leaf in measured:
            found[leaf] = _text(measured[leaf])
    if (mean := _over(measured.get("sum"), count)) is not None:
        found["mean"] = _text(mean)
    quantiles = _quantiles(measured.get("quantiles", {}))
    for quantile, number in quantiles:
        if quantile == "0.5":
            found["median"] = number
    if quantiles:
        told = quantiles[:MOST_QUANTILES]
        found["quantiles"] = [{"quantile": quantile, "value": number} for quantile, number in told]
    return found


def _share(part: float, whole: float | None) -> float | None:
    """Return which part of a whole it is; None where the whole is not known, or the smaller one: it was measured apart."""
    found = _over(part, whole)
    return found if found is not None and found <= 1 else None


def _over(part: float | None, whole: float | None) -> float | None:
    """Return a quotient; None where a number is not known or none to divide by, and where no float holds it."""
    if part is None or whole is None or whole <= 0:
        return None
    try:
        found = part / whole
    except OverflowError:  # of whole numbers without end
        return None
    return found if math.isfinite(found) else None


def _quantiles(measured: dict[str, float]) -> list[tuple[str, str]]:
    """Return (quantile, value) texts, sorted."""
    shares = {key: share_of(key) for key in measured}
    found = {share: _text(measured[key]) for key, share in shares.items() if share is not None}
    return [(_text(share), found[share]) for share in sorted(found)]


def _text(number: Any) -> str:
    """Return the shortest text of a number: whole floats without a fraction."""
    if isinstance(number, str):
        return number
    if isinstance(number, float) and number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return _encode(number).decode()
