"""Times on the command line: ages such as ``90d``, and moments such as ``2026-11-26``."""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_MILLIS_PER_UNIT = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGE = re.compile(r"(\d{1,6})([mhdw])")

since_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--since",
    metavar="TIME",
    callback=lambda _context, _option, text: None if text is None else parse_since(text),
    help="Only from this time on: an age (30m, 36h, 1d, 2w) or a time (2026-11-26, 2026-11-26T07:00:00Z).",
)


def parse_age(text: str) -> int | None:
    """Return an age such as ``90d`` or ``36h`` in milliseconds; None for another text."""
    match = _AGE.fullmatch(text)
    return None if match is None else int(match[1]) * _MILLIS_PER_UNIT[match[2]]


def parse_since(text: str) -> int:
    """Return a time in milliseconds since 1970; a time without a zone is in UTC.

    Raises:
        click.BadParameter: The text is neither an age nor a time.
    """
    age = parse_age(text)
    if age is not None:
        return int(time.time() * 1000) - age
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is neither an age nor a time. Write 1d, 36h, 30m, 2w or 2026-11-26."
        ) from error
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return int(moment.timestamp() * 1000)


def utc_text(millis: int | None) -> str | None:
    """Return a time as ISO 8601 in UTC with milliseconds, as the views of a catalogue have it."""
    if millis is None:
        return None
    moment = datetime.fromtimestamp(millis / 1000, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def short_time(millis: int | None) -> str | None:
    """Return a time for tables: UTC, to the second."""
    return None if millis is None else f"{datetime.fromtimestamp(millis / 1000, timezone.utc):%Y-%m-%d %H:%M:%S}"
