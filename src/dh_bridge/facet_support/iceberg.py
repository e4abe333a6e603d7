"""What Iceberg's two reports share: numbers that arrive as floats, and metrics without the zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.model.properties import json_text

if TYPE_CHECKING:
    from msgspec import Struct

    from dh_bridge.facet_support.context import FacetContext

Number = int | float
_MAX_EXACT_FLOAT = 2**53  # a float beyond is one of several whole numbers


def whole_number(number: Number | None) -> Number | None:
    """Return a number as it was meant: JSON's ``12.0`` is 12."""
    return (
        int(number) if isinstance(number, float) and number.is_integer() and abs(number) < _MAX_EXACT_FLOAT else number
    )


def snapshot_id(number: Number | None, ctx: FacetContext) -> Number | None:
    """Return the id of a snapshot; of one that JSON told as a float, without its last digits, as the facet ``version`` has it."""
    if isinstance(number, float) and abs(number) >= _MAX_EXACT_FLOAT:
        version = str(sibling_facet(ctx, "version").get("datasetVersion"))
        if version.isdecimal() and float(version) == number:
            return int(version)
    return whole_number(number)


def valid_count(number: Number | None) -> int | None:
    """Return a number that is to be a count; None when it cannot be one."""
    value = whole_number(number)
    return value if isinstance(value, int) and is_meaningful_count(value) else None


def nonzero_metrics(report: Struct | None, names: tuple[str, ...]) -> dict[str, Number]:
    """Return the metrics of a report that are not zero."""
    values = {name: whole_number(getattr(report, name)) for name in names} if report is not None else {}
    return {name: number for name, number in values.items() if number}


def note_zeros(path: str, report: Struct | None, names: tuple[str, ...], ctx: FacetContext) -> None:
    """Note the zeros that :func:`nonzero_metrics` leaves out; not of those that were told to be elsewhere before."""
    if ctx.notes is not None and report is not None:
        for name in names:
            if getattr(report, name) == 0:
                ctx.note_dropped(f"{path}.{name}", "empty:zero")


def number_properties(prefix: str, numbers: dict[str, Number]) -> dict[str, str]:
    """Return numbers as properties."""
    return {f"{prefix}.{name}": json_text(number) for name, number in numbers.items()}
