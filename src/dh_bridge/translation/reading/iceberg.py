"""What Iceberg's two reports share: numbers that arrive as floats, and metrics without the zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.properties import text
from dh_bridge.translation.reading.beside import beside
from dh_bridge.translation.reading.statistics import meaningful

if TYPE_CHECKING:
    from msgspec import Struct

    from dh_bridge.translation.context import Place

Number = int | float
_EXACT = 2**53  # a float beyond is one of several whole numbers


def whole(number: Number | None) -> Number | None:
    """Return a number as it was meant: JSON's ``12.0`` is 12."""
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < _EXACT else number


def snapshot(number: Number | None, at: Place) -> Number | None:
    """Return the id of a snapshot; of one that JSON told as a float, without its last digits, as the facet ``version`` has it."""
    if isinstance(number, float) and abs(number) >= _EXACT:
        version = str(beside(at, "version").get("datasetVersion"))
        if version.isdecimal() and float(version) == number:
            return int(version)
    return whole(number)


def count(number: Number | None) -> int | None:
    """Return a number that is to be a count; None when it cannot be one."""
    found = whole(number)
    return found if isinstance(found, int) and meaningful(found) else None


def metrics(report: Struct | None, names: tuple[str, ...]) -> dict[str, Number]:
    """Return the metrics of a report that are not zero."""
    found = {name: whole(getattr(report, name)) for name in names} if report is not None else {}
    return {name: number for name, number in found.items() if number}


def zeros(part: str, report: Struct | None, names: tuple[str, ...], at: Place) -> None:
    """Note the zeros that :func:`metrics` leaves out; not of those that were told to be elsewhere before."""
    if at.notes is not None and report is not None:
        for name in names:
            if getattr(report, name) == 0:
                at.withheld(f"{part}.{name}", "no-home:zero says nothing")


def flat(prefix: str, numbers: dict[str, Number]) -> dict[str, str]:
    """Return numbers as properties."""
    return {f"{prefix}.{name}": text(number) for name, number in numbers.items()}
