"""The fold of a batch over the states that the ledger keeps; it has the face of `translate.Fold`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.validation import Validator, validator
from dh_bridge.ledger.runs import Runs
from dh_bridge.ledger.shared import Shared
from dh_bridge.translation.fold import value
from dh_bridge.translation.joined import told
from dh_bridge.translation.other_runs import RUN
from dh_bridge.translation.settling import contribution, settled
from dh_bridge.translation.slots import OWN_JOB
from dh_bridge.translation.translate import Rejected, proposals, valid
from dh_bridge.translation.walk import Walk

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.history import History
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.render.ladders import Slots
    from dh_bridge.translation.runstate import RunState


class LedgerFold:
    """Folds events into the runs of the ledger; :meth:`close` renders every entity whose folded value changed."""

    def __init__(self, connection: sqlite3.Connection, options: Options, *, check: Validator | None = None) -> None:
        self.options = options
        self.walk = Walk(options)
        self.shared = Shared(connection)
        self.runs = Runs(connection, self._settled)
        self.rejected: list[Rejected] = []
        #: runs of which events came after the ledger had let go of them (ruling 12)
        self.late = 0
        self._validator = check or validator(options.profile)

    def add(self, event: Event, notes: list[tuple[str, str]] | None = None) -> RunState | None:
        """Fold one event into its run; the run's state, or None when a filter left the event out."""
        return self.walk.event(event, self.runs, notes)

    def close(self, keys: Iterable[str] | None = None) -> list[Proposal]:  # noqa: ARG002 - a batch closes as a whole
        """Return the valid proposals of all entities that the batch changed, and of the runs in it."""
        done: dict[str, tuple[RunState, History]] = {}
        others: set[str] = set()
        work = list(self.runs)
        while work:
            for key in work:
                done[key] = self._pour(self.runs[key])
            self.shared.refold(self.runs)
            # what these runs say of other runs: those are settled anew, with it
            said = {urn for urn in self.shared.changed if urn.startswith(RUN)}
            self.shared.rendered(said)
            others |= said
            work = [urn for urn in sorted(said) if self.runs.get(urn) is not None]
        chosen = _Chosen(self.shared)
        for urn in {*self.shared.changed, *(urn for urn in others if urn not in done and not self.runs.known(urn))}:
            chosen[urn] = self.shared.cells(urn)
        for urn in list(chosen):
            own = value(chosen[urn], OWN_JOB)
            if own is not None and own.job_urn not in chosen and (twin := self.shared.cells(own.job_urn)):
                chosen[own.job_urn] = twin  # it shows what the flow's facets say
        states, histories = [state for state, _ in done.values()], [found for _, found in done.values()]
        written = told(proposals(states, histories, chosen, self.options), states, histories, self.options)
        return valid(written, self._validator, self.rejected)

    def save(self, now: int) -> None:
        """Write what the batch changed; ``now`` in milliseconds."""
        self.runs.save(now)
        self.shared.save()

    def forget(self) -> None:
        """Drop all that is in memory: another process has written to the file, or a batch was rolled back."""
        self.runs.forget()
        self.shared.forget()

    def _pour(self, state: RunState) -> tuple[RunState, History]:
        if state.kind == "job" or state.key in self.runs.evicted:
            state.whole = False if state.kind == "run" else None
            self.late += state.kind != "job"
            copy, found, after = self._settled(state)
            self.shared.pour_for_good(after)
            return copy, found
        state.whole = True
        copy, found, after = self._settled(state)
        self.shared.pour(self.runs.kept(state), after)
        return copy, found

    def _settled(self, state: RunState) -> tuple[RunState, History, Cells]:
        copy, found = settled(state, self.shared.cells(state.urn) if state.urn else {}, self.options)
        return copy, found, contribution(copy, found, self.options)


class _Chosen(dict[str, "Slots"]):
    """The shared entities that are to be rendered; ``get`` looks further, for what they show of others."""

    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self._shared = shared

    def get(self, urn: str, default: Any = None) -> Any:
        """Return the cells of an entity, whether it is rendered or not."""
        found = super().get(urn)
        return found if found is not None else self._shared.cells(urn) or default
