"""ISO 8601 times of events, as microseconds since 1970 in UTC."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple

from dh_bridge.redaction import redact

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_MINUTE, _SECOND = 60_000_000, 1_000_000
_SECONDS = [f"{second:02d}" for second in range(60)]
#: Lengths of times to the second, with a fraction of three or of six digits.
_COMMON_LENGTHS = (20, 24, 27)
#: Python 3.10's fromisoformat does not read the Z.
_READS_Z = sys.version_info >= (3, 11)
#: Characters of a text that is no time that are looked through for secrets; 40 of them are shown.
_MAX_SCANNED_CHARACTERS = 1000
#: No time is longer, whatever the digits of its fraction.
_MAX_TIME_LENGTH = 1000
_DATE = re.compile(r"\d{4}-\d\d-\d\d").fullmatch
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))?\s*((?:[Zz]|UTC|GMT)(?:[+-]00:?00)?|[+-]\d\d:?\d\d[Zz]?|[+-]\d\d[Zz]?)?(?:\[[^\]]*\])?\Z"
)
_HAS_TWO_ZONES = re.compile(r"[+-].+[Zz]|[A-Za-z]+[+-].+").fullmatch


def to_micros(moment: datetime) -> int:
    """Return an aware datetime as whole microseconds since the epoch."""
    return (moment - _EPOCH) // _MICROSECOND


def format_iso(micros: int) -> str:
    """Return a time as RFC 3339 in UTC, without an empty fraction; as a number if it is out of the calendar's range."""
    minute, remainder = divmod(micros, _MINUTE)
    try:
        start = _format_minute(minute)
    except (ValueError, OverflowError, OSError):
        return str(micros)
    seconds, remainder = divmod(remainder, _SECOND)
    # digits from a table and from a larger number: format specifications would take most of the time
    return (
        f"{start}{_SECONDS[seconds]}.{str(_SECOND + remainder)[1:].rstrip('0')}Z"
        if remainder
        else f"{start}{_SECONDS[seconds]}Z"
    )


@lru_cache(maxsize=4096)
def _format_minute(minute: int) -> str:
    """Return ``2026-01-15T10:00:`` for a minute since 1970: the common prefix of all its seconds."""
    return datetime.fromtimestamp(60 * minute, timezone.utc).isoformat()[:17]


class ParsedTime(NamedTuple):
    """A time of an event.

    ``micros``: microseconds since 1970 in UTC. ``offset_minutes``: the offset from UTC that the text states, None if it states
    none. ``has_two_zones``: it states an offset and a Z (`+00:00Z`, `Z+00:00`).
    """

    micros: int
    offset_minutes: int | None
    has_two_zones: bool = False


def is_date(text: str) -> bool:
    """Whether a text is a date without a time: ``2026-11-20``."""
    return _DATE(text.strip()) is not None


def parse_time(text: str, default_zone: tzinfo = timezone.utc) -> ParsedTime:
    """Return the time that ``text`` states.

    Lenient: fractions of any length are floored to microseconds, a missing zone is ``default_zone``
    (Great Expectations sends local times without one), ``[Europe/Berlin]`` or a Z behind an offset is ignored, ``UTC`` and
    ``GMT`` are a Z.
    ValueError when the text is no time.
    """
    if text[-1:] == "Z" and len(text) in _COMMON_LENGTHS and _READS_Z:
        # What nearly every producer sends; the pattern below takes four times as long.
        try:
            return ParsedTime(to_micros(datetime.fromisoformat(text)), 0)
        except ValueError:
            pass
    match = _ISO.match(text.strip()) if len(text) <= _MAX_TIME_LENGTH else None
    if match is None:
        message = f"not an ISO 8601 time: {redact(text[:_MAX_SCANNED_CHARACTERS])[:40]!r}"
        raise ValueError(message)
    date, clock, seconds, fraction, zone = match.groups()
    offset, offset_minutes = _offset_of(zone, default_zone)
    moment = datetime.fromisoformat(f"{date}T{clock}{seconds or ':00'}").replace(tzinfo=offset)
    micros = to_micros(moment) + int((fraction or "0")[:6].ljust(6, "0"))
    return ParsedTime(micros, offset_minutes, zone is not None and _HAS_TWO_ZONES(zone) is not None)


def _offset_of(zone: str | None, default_zone: tzinfo) -> tuple[tzinfo, int | None]:
    if zone is None:
        return default_zone, None
    if zone[0] not in "+-":
        return timezone.utc, 0
    sign = -1 if zone[0] == "-" else 1
    digits = zone[1:].rstrip("Zz").replace(":", "")
    offset = sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(offset), round(offset.total_seconds() / 60)
