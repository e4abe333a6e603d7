"""``dh-bridge validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import json_line, say, write
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, events_argument, json_option, with_settings
from dh_bridge.cli.summary import is_nothing_read, read_items
from dh_bridge.datahub.generic_aspect import plain_operations
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import Proposal, patch
from dh_bridge.datahub.search_texts import long_texts
from dh_bridge.datahub.urn_limits import unreadable_urn
from dh_bridge.datahub.validation import Validator, validator
from dh_bridge.errors import AspectError
from dh_bridge.log_throttle import KindCounter, kind_of
from dh_bridge.naming.datasets import dataset_name, datasets_of
from dh_bridge.openlineage.events import DeadLetter, Event, located_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.settings import Settings

_MAX_SHOWN_PER_KIND = 20
"""Findings of one kind that are shown as text, at most; the others are counted."""
_UNREADABLE_REASONS = ("malformed", "non-serializable")
"""The reason that the report gives for a field that could not be read."""


@click.command()
@events_argument
@datahub_version_option
@json_option
@with_settings
@examples("dh-bridge validate examples/events", "dh-bridge translate examples/events | dh-bridge validate -")
def validate(*, settings: Settings, events: tuple[str, ...], as_json: bool) -> None:
    """Check events or proposals, and show one line for each problem.

    Events are read and translated; proposals are checked against DataHub's schemas. Each problem has its location and reason. Of
    more than 20 similar problems the rest is counted; --json writes all. The exit code is 1 if there is a problem. A text that is too
    long for DataHub's search index is a problem of a proposal; `emit` cuts such texts.
    """
    bridge, checker = Bridge(settings), validator(profile(settings.datahub_version))
    finding_count = item_count = 0
    kinds = _FindingKinds()
    for item in read_items(events, bridge):
        item_count += 1
        rows = list(findings(item, bridge, checker))
        finding_count += len(rows)
        write(map(json_line, rows) if as_json else map(_format_finding, filter(kinds.is_shown, rows)))
    for kind, count in kinds.hidden_counts():
        say(f"{count:,} more like this: {kind}")
    say(f"{item_count:,} checked, {finding_count:,} findings")
    if finding_count or is_nothing_read():
        raise click.exceptions.Exit(EXIT_EVENTS)


class _FindingKinds:
    """Which findings are shown as text: the first ones of each kind."""

    def __init__(self) -> None:
        self._counter = KindCounter()

    def is_shown(self, row: dict[str, str]) -> bool:
        """Count a finding; return whether to show it."""
        kind, _ = self._counter.add(kind_of(row["reason"].removeprefix(row["place"]).lstrip(": ")))
        return self._counter.counts[kind] <= _MAX_SHOWN_PER_KIND

    def hidden_counts(self) -> list[tuple[str, int]]:
        """Return the kinds of findings that were not all shown, and how many were not."""
        return [
            (kind, count - _MAX_SHOWN_PER_KIND)
            for kind, count in self._counter.counts.items()
            if count > _MAX_SHOWN_PER_KIND
        ]


def findings(item: Event | DeadLetter, bridge: Bridge, checker: Validator) -> Iterator[dict[str, str]]:
    """Yield ``{"place", "reason"}`` of everything that is wrong with an event or a proposal."""
    if isinstance(item, DeadLetter):
        document = _proposal_document(item.raw)
        for reason in [item.reason] if document is None else _faults(document, checker):
            yield {"place": item.location, "reason": reason}
        return
    translation = bridge.translate(item, report=True)
    for letter in translation.dead:
        yield {"place": letter.location, "reason": letter.reason}
    for line in translation.report.lines() if translation.report is not None else ():
        if line["reason"] in _UNREADABLE_REASONS:
            yield {"place": f"{item.location} {line['path']}", "reason": line["reason"]}
    yield from _incomplete_names(item, bridge)
    for proposal in translation.proposals:
        refusal = checker.refusal_text(proposal)
        if refusal is not None:
            yield {"place": f"{item.location} -> {proposal.entity_urn}", "reason": refusal}
    for urn in dict.fromkeys(proposal.entity_urn for proposal in translation.proposals):
        unreadable = unreadable_urn(urn, checker.version)
        if unreadable is not None:
            yield {"place": f"{item.location} -> {urn}", "reason": unreadable}


def _incomplete_names(event: Event, bridge: Bridge) -> Iterator[dict[str, str]]:
    """Yield one finding for the names of each namespace that lack a level."""
    naming = bridge.options.naming
    names = [dataset_name(dataset, naming) for dataset in datasets_of(event, naming)]
    gaps = {(name.safe_namespace, name.gap): name.name for name in reversed(names) if name.gap and name.skip is None}
    for (namespace, gap), name in sorted(gaps.items()):
        yield {"place": f"{event.location} {namespace} {name}", "reason": gap}


def _format_finding(row: dict[str, str]) -> bytes:
    return f"{located_reason(row['place'], row['reason'])}\n".encode("utf-8", "backslashreplace")


def _proposal_document(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a proposal; None when the bytes are something else."""
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return document if isinstance(document, dict) and "aspectName" in document else None


def _faults(document: dict[str, Any], checker: Validator) -> Iterator[str]:
    """Yield why a proposal is refused, and its texts that the search index does not take.

    Its aspect is ``{"json": …}``, or text as in DataHub's file source.
    """
    aspect = document.get("aspect")
    try:
        if isinstance(aspect, dict) and isinstance(aspect.get("value"), str):
            document = {**document, "aspect": {"json": msgspec.json.decode(aspect["value"])}}
        proposal = msgspec.convert(document, Proposal)
        if proposal.change_type == "PATCH":  # a file for DataHub may hold the keyed form
            operation_list = plain_operations(proposal.aspect_name, proposal.value)
            proposal = patch(proposal.entity_type, proposal.entity_urn, proposal.aspect_name, operation_list)
    except (msgspec.MsgspecError, RecursionError, KeyError, TypeError, AttributeError) as error:
        yield f"no proposal: {error}"
        return
    refusal = checker.refusal(proposal)
    if refusal is not None:
        yield str(AspectError(refusal.problem, location=refusal.location))  # whoever wrote it is at fault
    unreadable = unreadable_urn(proposal.entity_urn, checker.version)
    if unreadable is not None:
        yield f"{proposal.entity_urn}: {unreadable}"
    for text in long_texts(proposal, checker.version):
        yield f"{proposal.entity_type}/{proposal.aspect_name} {text}"
