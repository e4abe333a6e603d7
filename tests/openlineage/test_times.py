"""Times as producers write them."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.openlineage.times import format_iso, parse_time, to_micros

NOON = 1_763_640_000_000_000  # 2025-11-20T12:00:00Z

READABLE = {
    "2025-11-20T12:00:00+00:00Z": (NOON, True),
    "2025-11-20T12:00:00.000+0000z": (NOON, True),
    "2025-11-20T14:00:00+02:00Z": (NOON, True),
    "2025-11-20T12:00:00Z": (NOON, True),
    "2025-11-20T12:00:00z": (NOON, True),
    "2025-11-20t12:00:00Z": (NOON, True),
    "2025-11-20 12:00:00Z": (NOON, True),
    "2025-11-20T12:00Z": (NOON, True),
    "  2025-11-20T12:00:00Z\n": (NOON, True),
    "2025-11-20T14:00:00+02:00": (NOON, True),
    "2025-11-20T14:00:00+0200": (NOON, True),
    "2025-11-20T14:00:00+02": (NOON, True),
    "2025-11-20T07:30:00-04:30": (NOON, True),
    "2025-11-20T13:00:00+01:00[Europe/Berlin]": (NOON, True),
    "2025-11-20T12:00:00Z[UTC]": (NOON, True),
    "2025-11-20T12:00:00Z+00:00": (NOON, True),
    "2025-11-20 12:00:00 UTC": (NOON, True),
    "2025-11-20T12:00:00GMT": (NOON, True),
    "2025-11-20 12:00:00 UTC+0000": (NOON, True),
    "2025-11-20T12:00:00": (NOON, False),
    "2025-11-20T12:00:00.1Z": (NOON + 100_000, True),
    "2025-11-20T12:00:00,25Z": (NOON + 250_000, True),
    "2025-11-20T12:00:00.000001Z": (NOON + 1, True),
    "2025-11-20T12:00:00.123456789Z": (NOON + 123_456, True),
    "2025-11-20T12:00:00.9999999Z": (NOON + 999_999, True),
    "2025-11-20T12:00:00.641499": (NOON + 641_499, False),
    "1969-12-31T23:59:59.999Z": (-1_000, True),
}

UNREADABLE = ["", "yesterday", "2025-11-20", "1763640000000", "2025-13-20T12:00:00Z", "2025-11-20T25:00:00Z", "2025-11-20T12:00:00+99:00",
              "2025-11-20T12:00:00Z and more", "2025-11-20T12:00:00Z+02:00",
              "2025-11-20T12:00:00 CET", "20251120T120000Z"]  # fmt: skip


def read(text, *zone):
    time = parse_time(text, *zone)
    return time.micros, time.offset_minutes is not None


@pytest.mark.parametrize("text", READABLE)
def test_time_is_read_to_the_microsecond_whatever_its_spelling(text):
    assert read(text) == READABLE[text]


@pytest.mark.parametrize("text", UNREADABLE)
def test_invalid_time_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - parsing.py turns any of them into an EventError
        parse_time(text)


def test_time_without_zone_uses_the_configured_zone():
    assert read("2025-11-20T13:00:00", timezone(timedelta(hours=1))) == (NOON, False)
    assert read("2025-11-20T12:00:00Z", timezone(timedelta(hours=1))) == (NOON, True)


@given(
    st.datetimes(timezones=st.timezones() | st.just(timezone.utc)).filter(lambda t: 2 < t.year < 9998),
    st.sampled_from(["T", " "]),
)
def test_time_with_any_offset_is_read_as_its_instant(moment, separator):
    fixed = moment.astimezone(timezone(timedelta(seconds=moment.utcoffset().total_seconds() // 60 * 60)))
    assert read(fixed.isoformat(sep=separator)) == (to_micros(moment), True)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (NOON, "2025-11-20T12:00:00Z"),
        (NOON + 59_000_000, "2025-11-20T12:00:59Z"),
        (NOON + 7_100_000, "2025-11-20T12:00:07.1Z"),
        (NOON + 1, "2025-11-20T12:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (10**20, str(10**20)),
        (-(10**20), str(-(10**20))),
    ],
)
def test_time_is_formatted_without_an_empty_fraction(time, text):
    assert format_iso(time) == text


@given(st.datetimes(timezones=st.just(timezone.utc)).filter(lambda t: t.year > 1))
def test_formatted_time_is_parsed_to_the_same_value(moment):
    assert read(format_iso(to_micros(moment))) == (to_micros(moment), True)


@pytest.mark.parametrize(
    ("text", "offset", "has_two_zones"),
    [
        ("2025-11-20T12:00:00Z", 0, False),
        ("2025-11-20T12:00:00", None, False),
        ("2025-11-20T07:30:00-04:30", -270, False),
        ("2025-11-20T12:00:00+00:00Z", 0, True),
    ],
)
def test_time_knows_the_zone_that_it_states(text, offset, has_two_zones):
    assert parse_time(text)[1:] == (offset, has_two_zones)
