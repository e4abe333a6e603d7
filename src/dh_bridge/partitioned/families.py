"""Families: runs that must be translated together, such as operations merged into a task, and runs with two ids.

By default each run is translated alone. If the settings make families, a first pass finds the links between runs, and all
events of a family are translated together (see ``spark.translation``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import EventError, SettingsError
from dh_bridge.extract import FactExtractor
from dh_bridge.model.facts import MERGED_OPERATION, PARENT, RUN_ALIAS, UPSTREAM_RUN
from dh_bridge.model.fold import value
from dh_bridge.openlineage.parsing import parse_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options
    from dh_bridge.partitioned.records import EventRecord
    from dh_bridge.settings import Settings


def grouping_setting(settings: Settings) -> str:
    """Return the setting that relates runs to each other, "" if there is none."""
    identity = settings.identity
    if not identity.has_default_ids:
        return f"identity.mode: {', '.join(identity.mode)}"
    if identity.granularity != "operation":
        return f"identity.granularity: {identity.granularity}"
    rules = (rule.granularity for rule in identity.rules)
    return next(
        (
            f"identity.rules: granularity {granularity}"
            for granularity in rules
            if granularity not in {None, "operation"}
        ),
        "",
    )


def reject_grouping(settings: Settings) -> None:
    """Raise a SettingsError for settings that relate runs, because a stream knows the relations only after the last event."""
    setting, _, value = grouping_setting(settings).partition(": ")
    if setting:
        raise SettingsError(
            f"{value!r} is not supported in a stream, as it merges runs of different batches",
            location=setting,
            remedy="use dh-bridge emit, with a ledger if events arrive continuously, or a Spark batch",
        )


class RunLinks:
    """Finds the other runs that belong to the family of an event's run."""

    def __init__(self, options: Options, zone: tzinfo) -> None:
        self._extractor = FactExtractor(options)
        self._zone = zone
        self._has_aliases = options.settings.identity.shares_entities

    def linked_urns(self, record: EventRecord) -> Iterator[str]:
        """Yield the URNs of the other runs."""
        try:
            event = parse_event(record.raw, record.location, self._zone)
        except EventError:
            return
        if event.kind != "run":
            return
        state = self._extractor.extract(event, {})
        if state is not None:
            yield from {urn for urn in self._run_urns(state) if urn != record.key}

    def _run_urns(self, state: RunState) -> Iterator[str]:
        registers = state.facts.get(state.urn, {})
        yield state.urn
        yield from registers.get(RUN_ALIAS, ())
        parent = value(registers, PARENT)
        may_merge = MERGED_OPERATION in registers or any(
            job.placeholder for job, _ in state.jobs.values()
        )  # another event may name it
        if parent is not None and (self._has_aliases or may_merge):
            yield parent[0]
        if self._has_aliases:  # the tool's id of a run that other events name by OpenLineage's id
            yield from registers.get(UPSTREAM_RUN, ())


def group_runs(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return run -> its family, which is the smallest URN in it, for all runs of the links (one, other)."""
    parents: dict[str, str] = {}

    def group_of(run: str) -> str:
        parents.setdefault(run, run)
        while parents[run] != run:
            parents[run] = parents[parents[run]]  # shorten the path for later look-ups
            run = parents[run]
        return run

    for link in links:
        smaller, larger = sorted(map(group_of, link))
        parents[larger] = smaller
    return {run: group_of(run) for run in parents}
