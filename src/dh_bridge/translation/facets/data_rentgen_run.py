"""dataRentgen_run (run): what a sender tells Data.Rentgen of a run (https://data-rentgen.readthedocs.io)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import ATTEMPT, RUN_NAME, RUN_PROPERTIES, RUN_TYPE, RUN_URL, RUN_USER, Statements
from dh_bridge.translation.precedence import (
    ATTEMPT_DATA_RENTGEN,
    NAME_DATA_RENTGEN,
    TYPE_START_REASON,
    URL_PERSISTENT_LOG,
    URL_RUNNING_LOG,
    USER_DATA_RENTGEN,
    page,
)
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_URLS = {"persistent_log_url": URL_PERSISTENT_LOG, "running_log_url": URL_RUNNING_LOG}
_DIGITS = re.compile(r"\s*(\d{1,10})").match
#: ``attempt`` is an int in DataHub.
_MOST_TRIES = 2**31


@facet(
    "dataRentgen_run",
    at="run",
    leaves={
        "external_id": mapped(RUN_NAME, RUN_PROPERTIES),
        "attempt": mapped(ATTEMPT, RUN_PROPERTIES),
        "persistent_log_url": mapped(RUN_URL, RUN_PROPERTIES),
        "running_log_url": mapped(RUN_URL, RUN_PROPERTIES),
        "start_reason": mapped(RUN_TYPE, RUN_PROPERTIES),
        "started_by_user": mapped(RUN_USER, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Data.Rentgen",
)
def data_rentgen_run(opened: Open, at: Place) -> Statements:
    """Name, try, pages, type and user of the run; everything kept as properties too."""
    body = opened.body
    properties = flattened("dataRentgen_run", body)
    if properties:
        yield property_statement(at, properties)
    if name := _text(body, "external_id"):
        yield at.run, RUN_NAME, NAME_DATA_RENTGEN, name
    if user := _text(body, "started_by_user"):
        yield at.run, RUN_USER, USER_DATA_RENTGEN, user
    if reason := _text(body, "start_reason"):
        yield at.run, RUN_TYPE, TYPE_START_REASON, reason
    tries = _attempt(body.get("attempt"))
    if tries is not None:
        yield at.run, ATTEMPT, ATTEMPT_DATA_RENTGEN, tries
    for leaf, rung in _URLS.items():
        url = page(body.get(leaf))
        if url is not None:
            yield at.run, RUN_URL, rung, url


def _text(body: dict[str, Any], leaf: str) -> str:
    return text_of(body.get(leaf)).strip()


def _attempt(value: Any) -> int | None:
    """Return the number that an attempt begins with; Data.Rentgen's are text."""
    found = _DIGITS(str(value)) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    return int(found[1]) if found and 0 < int(found[1]) < _MOST_TRIES else None
