"""The source of `datahub ingest`: converts the events of files to proposals, and these to DataHub's work units."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.decorators import config_class, platform_name
from datahub.ingestion.api.source import Source, SourceReport
from datahub.ingestion.api.workunit import MetadataWorkUnit

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.creates import LEFT_OUT, drops_creates_silently
from dh_bridge.datahub.emitters import to_mcp, to_mcpw
from dh_bridge.datahub.profiles import newest_profile
from dh_bridge.delivery import wrap_sink
from dh_bridge.errors import SettingsError
from dh_bridge.ingestion.config import RecipeConfig
from dh_bridge.ledger import open_ledger, read_notes, trial_copy
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.openlineage.read import read_events
from dh_bridge.session import Counts
from dh_bridge.sinks.abilities import dropped_counts
from dh_bridge.sinks.base import SinkKind
from dh_bridge.sinks.memory import MemorySink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from datahub.ingestion.api.common import PipelineContext
    from datahub.ingestion.api.source import MetadataWorkUnitProcessor

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import DeadLetter, Event
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Delivery


@dataclass
class OpenLineageReport(SourceReport):
    """The pipeline's report about the events, and with ``report`` about their fields; entities are counted once per window."""

    counts: Counts = field(default_factory=Counts)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, translation: Translation) -> None:
        """Count a translation, and warn of what could not be used."""
        self.counts.add(translation.counts)
        for letter in translation.dead:
            self.warning("An event cannot be used; the others are processed", context=letter.text, log=False)
        for rejection in translation.rejected:
            self.warning(
                "A proposal does not match its schema and is not sent; please report it",
                context=rejection.message,
                log=False,
            )
        if translation.report is not None:
            reasons = [line["reason"] for line in translation.report.lines() if line["outcome"] == "dropped"]
            self.dropped.update(str(reason).partition(":")[0] for reason in reasons)

    def as_obj(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {**super().as_obj(), "counts": msgspec.to_builtins(self.counts)}


class _WorkUnitSink(MemorySink):
    """The sink of the settings and of the ledger: it collects proposals for work units.

    ``dropped_counts`` counts the CREATE proposals that a server of ``version`` would report as errors.
    """

    name = "datahub ingest"
    kind = SinkKind(scheme=name, needs_version=True)

    def __init__(self, version: str | None) -> None:
        super().__init__()
        self._can_create = drops_creates_silently(version)
        self.left_out: Counter[str] = Counter()

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Keep a batch."""
        accepted_proposals = (
            proposals if self._can_create else [proposal for proposal in proposals if proposal.change_type != "CREATE"]
        )
        if len(accepted_proposals) < len(proposals):
            self.left_out[LEFT_OUT] += len(proposals) - len(accepted_proposals)
        return super().emit(accepted_proposals)

    def drain(self) -> list[Proposal]:
        """Return the proposals that were collected since the last call."""
        proposals, self.proposals = self.proposals, []
        return proposals


@platform_name("OpenLineage", id="openlineage")
@config_class(RecipeConfig)
class OpenLineageSource(Source):
    """Translates the OpenLineage events of files and folders; a SettingsError names a wrong option of the recipe.

    DataHub's helpers would add aspects to every entity of a source (status, browse paths). They are not used, because lineage names
    tables that other connectors own, and tables that those removed would return. Transformers and sinks work as usual.
    """

    def __init__(self, config: RecipeConfig, ctx: PipelineContext) -> None:
        super().__init__(ctx)
        self.config = config
        self.report = OpenLineageReport()
        self._bridge = Bridge(config.resolve_settings(ctx.graph))
        self._settings = self._bridge.settings
        self._has_transformers = bool(ctx.pipeline_config and ctx.pipeline_config.transformers)
        self._work_unit_sink = _WorkUnitSink(self._settings.datahub_version)
        self._sink = wrap_sink(self._work_unit_sink, self._settings, ledger=self._settings.ledger.file is not None)
        self._ledger_path = self._settings.ledger.file
        target_notes = read_notes(self._ledger_path, f"{_WorkUnitSink.name}:")
        if target_notes.target not in {None, _WorkUnitSink.name}:
            raise SettingsError(
                f"this ledger belongs to the target {target_notes.target}",
                location=str(self._ledger_path),
                remedy="use another file",
            )

    def get_report(self) -> OpenLineageReport:
        """Return the report."""
        return self.report

    def get_workunit_processors(self) -> list[MetadataWorkUnitProcessor | None]:
        """Return what every work unit passes through: it is counted."""
        return [self._count_work_units]

    def get_workunits_internal(self) -> Iterable[MetadataWorkUnit]:
        """Yield a work unit for each proposal, in the order in which they are to be written."""
        items = read_events(
            self.config.events, zone=self._bridge.zone, on_skipped_file=self._report_skipped_file,
            on_outside_link=self._report_link,
        )  # fmt: skip
        for translation in (
            self._translate(items)
            if self._ledger_path is None
            else self._translate_with_ledger(items, self._ledger_path)
        ):
            self.report.add(translation)
            for proposal in self._work_unit_sink.drain():
                yield self._to_work_unit(proposal)
        self.report.counts.filtered.update(dropped_counts(self._sink))
        if self._settings.datahub_version is None:
            self.report.info(
                "Neither the settings nor a server state a DataHub version: the newest one is assumed",
                context=f"written for DataHub {newest_profile()}; if your server is older, set its version"
                " (settings: {datahub_version: VERSION}), or add the server to the recipe (datahub_api)",
                log=False,
            )

    def _report_skipped_file(self, file: Path) -> None:
        self.report.info(
            "Files in folders were ignored because of their endings",
            context=f"{file}; the endings {', '.join(SUFFIXES)} are read. To read another file, add its path to `events`",
            log=False,
        )

    def _report_link(self, link: Path) -> None:
        self.report.info(
            "Links that point out of a folder of events were ignored",
            context=f"{link}; to read its target, add it to the paths of the recipe",
            log=False,
        )

    def _translate(self, items: Iterable[Event | DeadLetter]) -> Iterator[Translation]:
        for translation in self._bridge.stream(items, report=self.config.report):
            self._sink.emit(translation.proposals)
            yield translation

    def _translate_with_ledger(self, items: Iterable[Event | DeadLetter], ledger_path: Path) -> Iterator[Translation]:
        """Add the events to a ledger, or for a rehearsal to a copy of it.

        A source does not know which work units arrived, so the ledger must not rely on them: all entities that the events
        change are written completely. If a recipe is run again after an error, no data is lost.
        """
        rehearsal = self.ctx.dry_run_mode or self.ctx.preview_mode
        with ExitStack() as stack:
            ledger = stack.enter_context(
                open_ledger(
                    stack.enter_context(trial_copy(ledger_path)) if rehearsal else ledger_path,
                    self._sink,
                    self._settings,
                    full=True,
                    report=self.config.report,
                    delivery_id=self.ctx.run_id,
                    target=_WorkUnitSink.name,
                )
            )
            assert ledger is not None  # noqa: S101 - a file was named
            for translation, _ in ledger.stream(items):
                yield translation
            self._warn_of_waiting(ledger)

    def _warn_of_waiting(self, ledger: Ledger) -> None:
        relay = ledger.relay
        if waiting_count := relay.outbox.count(max_id=relay.last_own_id)[0]:
            reason = "paused by `dh-bridge queue pause`" if relay.outbox.is_paused else str(relay.last_error)
            self.report.warning("Proposals wait in the ledger for a later run", context=f"{waiting_count:,}: {reason}")

    def _to_work_unit(self, proposal: Proposal) -> MetadataWorkUnit:
        """Return the work unit of a proposal; transformers understand aspects that are objects, sinks all of them."""
        unit_id = f"{proposal.entity_urn}-{proposal.aspect_name}"
        change = (to_mcpw if self._has_transformers else to_mcp)(proposal, version=self._settings.datahub_version)
        if isinstance(change, MetadataChangeProposalWrapper):
            return MetadataWorkUnit(unit_id, mcp=change)
        return MetadataWorkUnit(unit_id, mcp_raw=change)

    def _count_work_units(self, units: Iterable[MetadataWorkUnit]) -> Iterator[MetadataWorkUnit]:
        for unit in units:
            self.report.report_workunit(unit)
            yield unit
