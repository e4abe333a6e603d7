"""The story in order: events -> statements -> state of runs -> state of what they share -> aspects -> proposals."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.proposal import Proposal
from dh_bridge.datahub.search_texts import shortened
from dh_bridge.translation.extract import Walk
from dh_bridge.translation.facts import COLUMN_TAG, CONTAINER, TAG, WRITTEN
from dh_bridge.translation.fold import value
from dh_bridge.translation.render import cache
from dh_bridge.translation.render.assertions import assertion_proposals, result_proposals
from dh_bridge.translation.render.containers import container_proposals
from dh_bridge.translation.render.eventless_tasks import silent_proposals
from dh_bridge.translation.render.operations import operation_proposals
from dh_bridge.translation.render.queries import query_proposals
from dh_bridge.translation.render.runs import run_proposals, stub_proposals
from dh_bridge.translation.render.shared import tag_key
from dh_bridge.translation.runs.contributions import contribute, outputs_of
from dh_bridge.translation.runs.foreign_owned import ours
from dh_bridge.translation.runs.operations import without_runs
from dh_bridge.translation.runs.other_runs import RUN, hand_over
from dh_bridge.translation.runs.settling import history_of, settle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.validation import Validator
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState
    from dh_bridge.translation.trace import Trace


#: Proposals that are checked at once, soon after they were made.
_TOGETHER = 256


class Rejected(msgspec.Struct, frozen=True):
    """A proposal of ours that its schema refuses: our fault, told loudly; the others go on."""

    proposal: Proposal
    reason: str

    @property
    def text(self) -> str:
        """What is left out and why, in a line."""
        return f"left out: {self.proposal.entity_urn}: {self.reason}"


class Fold:
    """The open runs of a call; :meth:`close` turns runs into proposals, once, together."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.walk = Walk(options)
        self.runs: dict[str, RunState] = {}
        self.rejected: list[Rejected] = []
        #: the runs of the last close as they were settled
        self.closed: list[RunState] = []

    def add(self, event: Event, trace: Trace | None = None) -> RunState | None:
        """Fold one event into its run; the run's state, or None when a filter left the event out."""
        return self.walk.event(event, self.runs, trace)

    def close(self, keys: Iterable[str] | None = None) -> list[Proposal]:
        """Return the valid proposals of the runs ``keys`` (all by default), which are forgotten."""
        return list(chain.from_iterable(self.closing(keys)))

    def closing(self, keys: Iterable[str] | None = None) -> Iterator[list[Proposal]]:
        """Yield what :meth:`close` returns, some hundreds at a time; the runs are forgotten with the first."""
        chosen = list(self.runs) if keys is None else list(keys)
        states, folded = settle([self.runs.pop(key) for key in chosen], hand_over, self.options)
        self.closed = states
        # A run that is alone shares with nobody: its own cells serve, and nothing is copied.
        shared: Cells = states[0].cells if len(states) == 1 else {}
        histories: list[History] = []
        for state in states:
            found = history_of(state, self.options)
            histories.append(found)
            contribute(state, found, shared, self.options)
        written = proposals(states, histories, shared, self.options)
        if self.options.settings.identity.fold_runs == "drop":
            written = without_runs(written, folded)
        yield from sound(ours(written, states, histories, self.options), self.options.validator, self.rejected)

    def standing(self, urns: Iterable[str]) -> Iterator[Proposal]:  # noqa: ARG002 - as a fold that has an earlier call
        """Return what was written earlier of entities that did not change: nothing outlives the call."""
        return iter(())


def valid(found: Iterable[Proposal], validator: Validator, rejected: list[Rejected]) -> list[Proposal]:
    """Return the proposals that their schemas take; the others go into ``rejected`` with the reason."""
    return list(chain.from_iterable(sound(found, validator, rejected)))


def sound(found: Iterable[Proposal], validator: Validator, rejected: list[Rejected]) -> Iterator[list[Proposal]]:
    """Yield what :func:`valid` returns, soon after it was made; texts that are too long for the search index are cut."""
    left = iter(found)
    while some := list(islice(left, _TOGETHER)):
        if validator.takes(some):
            yield some
            continue
        taken = []
        for whole in some:
            proposal = shortened(whole, validator.version)
            if (error := validator.refusal(proposal)) is None:
                taken.append(proposal)
            else:
                rejected.append(Rejected(proposal, str(error)))
        yield taken


def proposals(states: list[RunState], histories: list[History], shared: Cells, options: Options) -> Iterator[Proposal]:
    """Yield the proposals of runs and of what they share: templates first, then datasets, runs, checks."""
    written = _written(states, shared)
    named = sorted(shared)
    yield from _tags(shared)
    for urn in named:
        if urn.startswith("urn:li:dataFlow:"):
            yield from cache.of_flow(urn, shared[urn], options)
    for urn in named:
        if urn.startswith("urn:li:dataJob:"):
            yield from cache.of_job(urn, shared[urn], shared, options)
    if options.settings.containers == "on":
        yield from _containers(named, shared, options)
    for urn in named:
        if urn.startswith("urn:li:dataset:"):
            yield from cache.of_dataset(urn, shared[urn], options, written=urn in written)
    if options.queries:
        yield from _queries(named, shared, options)
    for urn in named:
        if urn.startswith("urn:li:assertion:"):
            yield from assertion_proposals(urn, shared[urn], shared, options)
    yield from _stubs(named, shared, options)
    for state, found in zip(states, histories, strict=True):
        if state.urn:
            yield from run_proposals(state, found, options)
        yield from operation_proposals(state, found, options)
        yield from result_proposals(state, found, options)


def _written(states: list[RunState], shared: Cells) -> set[str]:
    found = {urn for urn, slots in shared.items() if WRITTEN in slots}
    return found.union(*map(outputs_of, states))


def _containers(named: list[str], shared: Cells, options: Options) -> Iterator[Proposal]:
    found = [urn for urn in named if urn.startswith("urn:li:container:")]
    for urn in sorted(found, key=lambda one: (len(value(shared[one], CONTAINER).above), one)):
        yield from container_proposals(urn, shared[urn], options)


def _queries(named: list[str], shared: Cells, options: Options) -> Iterator[Proposal]:
    for urn in named:
        if urn.startswith("urn:li:query:"):
            yield from query_proposals(urn, shared[urn], options)


def _stubs(named: list[str], shared: Cells, options: Options) -> Iterator[Proposal]:
    for urn in named:
        if urn.startswith(RUN):
            yield from stub_proposals(urn, shared[urn], options)
            yield from silent_proposals(urn, shared[urn], options)


def _tags(shared: Cells) -> Iterator[Proposal]:
    names: set[str] = set()
    for urn, slots in shared.items():
        if urn.startswith("?"):  # stands for jobs that are not written: nobody bears its tags
            continue
        if TAG in slots:
            names.update(slots[TAG])
        if COLUMN_TAG in slots:
            names.update(name for _, name in slots[COLUMN_TAG])
    for name in sorted(names - {""}):  # a tombstone has none; a tag that was withdrawn stays for others
        yield tag_key(name)
