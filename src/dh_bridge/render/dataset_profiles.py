"""The numbers of a datasetProfile, from metrics by source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.facet_support.statistics import MAX_COLUMNS, MAX_QUANTILES, quantile_fraction

if TYPE_CHECKING:
    from dh_bridge.model.merge import Versioned

_encode = msgspec.json.Encoder().encode


def profile_fields(metrics: dict[Any, Versioned]) -> dict[str, Any]:
    """Return rowCount, sizeInBytes and fieldProfiles, as far as they were measured; the source of lower rank wins."""
    columns: dict[str, dict[str, Any]] = {}
    profile: dict[str, Any] = {}
    for key in sorted(metrics, key=_descending_rank):
        metric = metrics[key][1]
        if key[1] == "column":
            columns.setdefault(key[2], {})[key[3]] = metric
        elif key[1] == "quantile":
            columns.setdefault(key[2], {}).setdefault("quantiles", {})[key[3]] = metric
        else:
            profile[key[1]] = metric
    if columns:
        rows = profile.get("rowCount")
        profile["fieldProfiles"] = [_field_profile(name, columns[name], rows) for name in sorted(columns)[:MAX_COLUMNS]]
    return profile


def _descending_rank(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return (-key[0], *map(str, key[1:]))


def _field_profile(column: str, metrics: dict[str, Any], rows: int | None) -> dict[str, Any]:
    """Return one DatasetFieldProfile, in Avro field order; ``distinctCount`` is DataHub's uniqueCount."""
    nulls, distinct, count = (metrics.get(metric) for metric in ("nullCount", "distinctCount", "count"))
    non_null_count = count if count is not None else rows - nulls if rows is not None and nulls is not None else None
    profile: dict[str, Any] = {"fieldPath": column}
    if distinct is not None:
        profile["uniqueCount"] = distinct
        if (proportion := _proportion(distinct, non_null_count)) is not None:
            profile["uniqueProportion"] = proportion
    if nulls is not None:
        profile["nullCount"] = nulls
        if (proportion := _proportion(nulls, rows)) is not None:
            profile["nullProportion"] = proportion
    for metric in ("min", "max"):
        if metric in metrics:
            profile[metric] = _text(metrics[metric])
    if (mean := _quotient(metrics.get("sum"), count)) is not None:
        profile["mean"] = _text(mean)
    quantiles = _quantile_texts(metrics.get("quantiles", {}))
    for quantile, number in quantiles:
        if quantile == "0.5":
            profile["median"] = number
    if quantiles:
        selection = quantiles[:MAX_QUANTILES]
        profile["quantiles"] = [{"quantile": quantile, "value": number} for quantile, number in selection]
    return profile


def _proportion(numerator: float, denominator: float | None) -> float | None:
    """Return which part of a whole it is; None where the whole is not known, or the smaller one: it was measured apart."""
    quotient = _quotient(numerator, denominator)
    return quotient if quotient is not None and quotient <= 1 else None


def _quotient(numerator: float | None, denominator: float | None) -> float | None:
    """Return a quotient; None where a number is not known or none to divide by, and where no float holds it."""
    if numerator is None or denominator is None or denominator <= 0:
        return None
    try:
        quotient = numerator / denominator
    except OverflowError:  # of whole numbers without end
        return None
    return quotient if math.isfinite(quotient) else None


def _quantile_texts(quantiles: dict[str, float]) -> list[tuple[str, str]]:
    """Return (quantile, value) texts, sorted."""
    fractions = {key: quantile_fraction(key) for key in quantiles}
    texts = {fraction: _text(quantiles[key]) for key, fraction in fractions.items() if fraction is not None}
    return [(_text(fraction), texts[fraction]) for fraction in sorted(texts)]


def _text(number: Any) -> str:
    """Return the shortest text of a number: whole floats without a fraction."""
    if isinstance(number, str):
        return number
    if isinstance(number, float) and number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return _encode(number).decode()
