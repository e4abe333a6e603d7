"""The time that a run was scheduled for, as a partition of its points and as their granularity."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dh_bridge.openlineage.times import instant
from dh_bridge.translation.fold import value
from dh_bridge.translation.render.stamps import FULL_TABLE
from dh_bridge.translation.slots import RUN_PROPERTIES

if TYPE_CHECKING:
    from dh_bridge.translation.fold import Slots

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
#: Lengths of DataHub's calendar intervals that are always the same, in seconds
_UNITS = (("WEEK", 7 * _DAY), ("DAY", _DAY), ("HOUR", _HOUR), ("MINUTE", _MINUTE), ("SECOND", 1))
_MONTHS_OF_A_YEAR = 12
_MONTHS = (("YEAR", _MONTHS_OF_A_YEAR), ("QUARTER", 3), ("MONTH", 1))
_MOST_INT = 2**31 - 1


def partition(slots: Slots) -> dict[str, Any]:
    """Return the nominal time of the run as a partition; never a ``timePartition``, which the server refuses beside it."""
    start, end = _nominal(slots)
    return {"partition": f"{start}/{end}" if end else start, "type": "PARTITION"} if start else FULL_TABLE


def granularity(slots: Slots) -> dict[str, Any] | None:
    """Return the length of the run's schedule as a TimeWindowSize, None where the nominal time has no end."""
    start, end = _nominal(slots)
    if not start or not end:
        return None
    try:
        return window(_moment(start), _moment(end))
    except (ValueError, OverflowError):
        return None


def window(start: datetime, end: datetime) -> dict[str, Any] | None:
    """Return what lies between two times in the largest unit that counts it exactly, None when nothing does."""
    if end <= start:
        return None
    months = (end.year - start.year) * _MONTHS_OF_A_YEAR + end.month - start.month
    if months and (start.day, start.time()) == (end.day, end.time()):
        return _counted(months, _MONTHS)
    return _counted(int((end - start).total_seconds()), _UNITS)


def _counted(length: int, units: tuple[tuple[str, int], ...]) -> dict[str, Any] | None:
    """Return how many of the first unit that counts ``length`` exactly; None for more than the field, an int, holds."""
    for unit, size in units:
        multiple, rest = divmod(length, size)
        if 0 < multiple <= _MOST_INT and not rest:
            return {"unit": unit, "multiple": multiple}
    return None


def _nominal(slots: Slots) -> tuple[str | None, str | None]:
    said = value(slots, RUN_PROPERTIES, "nominalTime") or {}
    return said.get("nominalTime.nominalStartTime"), said.get("nominalTime.nominalEndTime")


def _moment(text: str) -> datetime:
    """Return a time as a datetime in UTC, whole seconds."""
    return datetime.fromtimestamp(instant(text)[0] // 1_000_000, timezone.utc)
