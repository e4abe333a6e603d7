"""What needs attention: proposals that wait, dead letters, failed runs and checks, unknown platforms, findings of `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.console.event_survey import EventFindings, EventSurvey
from dh_bridge.console.near_misses import server_address
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.sent import SentFingerprints
from dh_bridge.openlineage.read import events_of

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource
    from dh_bridge.naming import Naming

_MAX_GROUPS = 50
_MAX_CHECKED_EVENTS = 20_000
_PLATFORMS = """
    SELECT substr(urn, 37, instr(urn, ',') - 37), count(*), min(urn) FROM entity
    WHERE urn > 'urn:li:dataset:(urn:li:dataPlatform:' AND urn < 'urn:li:dataset:(urn:li:dataPlatform;' -- by the index
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
_FAILED = """
    SELECT (SELECT count(*) FROM run_summary WHERE failed),
        (SELECT count(*) FROM checks WHERE result IN ('FAILURE', 'ERROR') AND NOT removed)
"""


class WaitingProposals(msgspec.Struct, frozen=True):
    """Proposals that wait for the same reason; ``oldest`` is in milliseconds since 1970."""

    entity_type: str
    reason: str
    count: int
    oldest: int


class UnknownPlatform(msgspec.Struct, frozen=True):
    """A platform that is in no file of ``mappings/naming``, with the number of its datasets and one of them."""

    platform: str
    datasets: int
    example: str


class Problems(msgspec.Struct, frozen=True):
    """The number of problems of each kind, and the lists that are short.

    ``server``: the address of the DataHub of the settings, None if they name none.
    """

    waiting: list[WaitingProposals]
    is_paused: bool
    dead_letters: int
    unknown_platforms: list[UnknownPlatform]
    server: str | None


class FailureCounts(msgspec.Struct, frozen=True):
    """The number of failed runs, and of checks whose latest result is a failure."""

    failed_runs: int
    failed_checks: int


class DeadLetterRow(msgspec.Struct, frozen=True):
    """A proposal that the server rejected, with the words of the server."""

    number: int
    urn: str
    aspect: str
    since: int
    tries: int
    reason: str


class DeadLetterPage(msgspec.Struct, frozen=True):
    """Dead letters, oldest first; ``next`` is the ``after`` of the next page, None at the end."""

    letters: list[DeadLetterRow]
    next: int | None


class DeadLetterEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do with dead letters: ``retry`` or ``drop``; ``numbers`` None means all."""

    action: str
    numbers: list[int] | None = None


class EditResult(msgspec.Struct, frozen=True):
    """How many dead letters were queued again or dropped."""

    count: int


def answer_problems(source: ConsoleSource, _parameters: RequestParameters) -> Problems:
    """Return what needs attention, without what takes long to count."""
    with source.read_ledger() as ledger:
        outbox = Outbox(ledger.connection)
        groups, is_paused, dead_count = outbox.waiting_groups(_MAX_GROUPS), outbox.is_paused, outbox.count()[1]
    with source.read_catalog() as catalog:
        platforms = source.cached("platforms", lambda: _unknown_platforms(catalog, source.bridge.options.naming))
    return Problems(
        waiting=[
            WaitingProposals(group.entity_type, group.reason or "not sent yet", group.number, group.oldest)
            for group in groups
        ],
        is_paused=is_paused,
        dead_letters=dead_count,
        unknown_platforms=platforms,
        server=server_address(source),
    )


def answer_failures(source: ConsoleSource, _parameters: RequestParameters) -> FailureCounts:
    """Return how many runs and checks failed; the answer is cached while the file does not change."""
    with source.read_catalog() as catalog:
        counts = source.cached("failures", lambda: catalog.connection.execute(_FAILED).fetchone())
    return FailureCounts(*counts)


def _unknown_platforms(catalog: Catalog, naming: Naming) -> list[UnknownPlatform]:
    known_platforms = naming.platforms
    return [
        UnknownPlatform(platform, count, urn)
        for platform, count, urn in catalog.connection.execute(_PLATFORMS)
        if platform not in known_platforms
    ]


def answer_dead_letters(source: ConsoleSource, parameters: RequestParameters) -> DeadLetterPage:
    """Return dead letters with numbers above ``after``."""
    after_id, size = parameters.number("after", 0, maximum=2**62), parameters.page_size()
    with source.read_ledger() as ledger:
        items = Outbox(ledger.connection).list_queued(after_id=after_id, limit=size, is_dead=True)
    letters = [
        DeadLetterRow(
            number=item.number,
            urn=item.proposal.entity_urn,
            aspect=item.proposal.aspect_name,
            since=item.queued_at,
            tries=item.tries,
            reason=item.reason or "",
        )
        for item in items
    ]
    return DeadLetterPage(letters, letters[-1].number if len(letters) == size else None)


def answer_edit_dead_letters(source: ConsoleSource, parameters: RequestParameters) -> EditResult:
    """Queue dead letters again, or drop them, as `dh-bridge queue` does."""
    try:
        edit = msgspec.json.decode(parameters.body, type=DeadLetterEdit)
    except msgspec.DecodeError as error:
        raise ValueError(f"the body is not valid: {error}") from error
    if edit.action not in ("retry", "drop"):
        raise ValueError(f"action: unknown value {edit.action!r} (use one of retry, drop)")
    with source.edit_ledger() as ledger:
        outbox, fingerprints = Outbox(ledger.connection), SentFingerprints(ledger.connection)
        items = outbox.iter_queued(is_dead=True) if edit.numbers is None else iter(outbox.find_dead(edit.numbers))
        if edit.action == "retry":
            for item in items:
                fingerprints.mark_sent(item.proposal, item.queued_at)
            return EditResult(outbox.retry_dead(edit.numbers))
        for item in items:
            fingerprints.mark_unsent(item.proposal)
        return EditResult(outbox.delete(is_dead=True, numbers=edit.numbers))


def answer_check_events(source: ConsoleSource, parameters: RequestParameters) -> EventFindings:
    """Return what is wrong with the events of the body."""
    bridge = source.bridge
    survey = EventSurvey(bridge)
    body = parameters.body.strip()
    for item in events_of(body, "event", bridge.zone, max_events=_MAX_CHECKED_EVENTS) if body else ():
        survey.see(item)
    if not survey.event_count:
        raise ValueError("no event: paste the JSON of OpenLineage events")
    return survey.findings()
