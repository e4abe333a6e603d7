"""The read API of the console: each path, its method and its function. It is private: any release may change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.console.checks_view import answer_check, answer_checks
from dh_bridge.console.column_lineage import answer_column_lineage
from dh_bridge.console.entities import answer_columns, answer_entity, answer_search
from dh_bridge.console.inspector import answer_example, answer_examples, answer_inspect
from dh_bridge.console.lineage_view import answer_lineage
from dh_bridge.console.log_check import answer_log_check, answer_start_log_check, answer_stop_log_check
from dh_bridge.console.logged_events import answer_logged_event, answer_logged_events, answer_run_events
from dh_bridge.console.near_misses import answer_compare_with_server, answer_near_misses
from dh_bridge.console.overview import answer_activity, answer_overview
from dh_bridge.console.problems import (
    answer_check_events,
    answer_dead_letters,
    answer_edit_dead_letters,
    answer_failures,
    answer_problems,
)
from dh_bridge.console.runs_view import answer_run, answer_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource


class Route(NamedTuple):
    """A path of the API: its method, and the function that answers."""

    method: str
    answer: Callable[[ConsoleSource, RequestParameters], msgspec.Struct]


ROUTES: dict[str, Route] = {
    "overview": Route("GET", answer_overview),
    "activity": Route("GET", answer_activity),
    "search": Route("GET", answer_search),
    "entity": Route("GET", answer_entity),
    "columns": Route("GET", answer_columns),
    "column-lineage": Route("GET", answer_column_lineage),
    "lineage": Route("GET", answer_lineage),
    "runs": Route("GET", answer_runs),
    "run": Route("GET", answer_run),
    "checks": Route("GET", answer_checks),
    "check": Route("GET", answer_check),
    "problems": Route("GET", answer_problems),
    "failures": Route("GET", answer_failures),
    "dead-letters": Route("GET", answer_dead_letters),
    "edit-dead-letters": Route("POST", answer_edit_dead_letters),
    "check-events": Route("POST", answer_check_events),
    "log-check": Route("GET", answer_log_check),
    "start-log-check": Route("POST", answer_start_log_check),
    "stop-log-check": Route("POST", answer_stop_log_check),
    "near-misses": Route("GET", answer_near_misses),
    "compare-with-server": Route("POST", answer_compare_with_server),
    "inspect": Route("POST", answer_inspect),
    "run-events": Route("GET", answer_run_events),
    "logged-events": Route("GET", answer_logged_events),
    "logged-event": Route("GET", answer_logged_event),
    "examples": Route("GET", answer_examples),
    "example": Route("GET", answer_example),
}
"""Path below ``api/`` -> its route."""
