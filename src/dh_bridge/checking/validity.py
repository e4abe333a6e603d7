"""Problems of single events and proposals: what cannot be read, and what DataHub rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.checking.finding import MAX_EXAMPLES, Finding
from dh_bridge.datahub.generic_aspect import plain_operations
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import Proposal, patch
from dh_bridge.datahub.search_texts import long_texts
from dh_bridge.datahub.urn_limits import unreadable_urn
from dh_bridge.datahub.validation import Validator, validator
from dh_bridge.errors import AspectError
from dh_bridge.log_throttle import KindCounter, kind_of, shorten_message
from dh_bridge.openlineage.events import DeadLetter, Event, located_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.bridge import Bridge

_UNREADABLE_REASONS = ("malformed", "non-serializable")
"""The reason that the report gives for a field that could not be read."""


class Problem(NamedTuple):
    """A problem of one event or proposal; ``location`` is its file, line and field."""

    kind: str
    location: str
    reason: str

    def row(self) -> dict[str, Any]:
        """Return the problem for programs."""
        return {"kind": self.kind, "text": self.reason, "count": 1, "location": self.location}


class ValidityChecker:
    """Checks single events and proposals; counts the problems by kind, and remembers the first examples of each."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._validator = validator(profile(bridge.settings.datahub_version))
        self._counter = KindCounter()
        self._examples: dict[str, list[Problem]] = {}

    def check(self, item: Event | DeadLetter) -> Iterator[Problem]:
        """Yield the problems of an event or a proposal, and count them."""
        for problem in self._problems(item):
            text = kind_of(problem.reason.removeprefix(problem.location).lstrip(": "))
            kind, is_first = self._counter.add(text)
            examples = self._examples.setdefault(kind, [])
            if is_first or len(examples) < MAX_EXAMPLES:
                examples.append(problem)
            yield problem

    def findings(self) -> Iterator[Finding]:
        """Yield one finding for each kind of problem."""
        for kind, count in self._counter.counts.items():
            examples = self._examples[kind]
            texts = (shorten_message(located_reason(problem.location, problem.reason)) for problem in examples)
            yield Finding(examples[0].kind, _without_location(examples[0]), count, examples=tuple(texts))

    def _problems(self, item: Event | DeadLetter) -> Iterator[Problem]:
        if isinstance(item, DeadLetter):
            document = _proposal_document(item.raw)
            if document is None:
                yield Problem("invalid-event", item.location, item.reason)
                return
            for reason in _faults(document, self._validator):
                yield Problem("invalid-proposal", item.location, reason)
            return
        translation = self._bridge.translate(item, report=_UNREADABLE_REASONS)
        for letter in translation.dead:
            yield Problem("invalid-event", letter.location, letter.reason)
        for line in translation.report.lines() if translation.report is not None else ():
            if line["reason"] in _UNREADABLE_REASONS:
                yield Problem("invalid-event", f"{item.location} {line['path']}", line["reason"])
        for proposal in translation.proposals:
            refusal = self._validator.refusal_text(proposal)
            if refusal is not None:
                yield Problem("invalid-proposal", f"{item.location} -> {proposal.entity_urn}", refusal)
        for urn in dict.fromkeys(proposal.entity_urn for proposal in translation.proposals):
            unreadable = unreadable_urn(urn, self._validator.version)
            if unreadable is not None:
                yield Problem("invalid-proposal", f"{item.location} -> {urn}", unreadable)


def _without_location(problem: Problem) -> str:
    """Return the reason of a problem without its location."""
    return shorten_message(problem.reason.removeprefix(problem.location).lstrip(": "))


def is_proposal(item: Event | DeadLetter) -> bool:
    """Whether the item is a proposal, which readers of events return as a dead letter."""
    return isinstance(item, DeadLetter) and _proposal_document(item.raw) is not None


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
        yield str(AspectError(refusal.problem, location=refusal.location))  # the writer of the proposal is at fault
    unreadable = unreadable_urn(proposal.entity_urn, checker.version)
    if unreadable is not None:
        yield f"{proposal.entity_urn}: {unreadable}"
    for text in long_texts(proposal, checker.version):
        yield f"{proposal.entity_type}/{proposal.aspect_name} {text}"
