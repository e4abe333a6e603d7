"""The source: events of files become proposals, and those DataHub's work units."""

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
from dh_bridge.delivery import around
from dh_bridge.errors import SettingsError
from dh_bridge.ingestion.config import RecipeConfig
from dh_bridge.ledger import noted, opened, trial
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.openlineage.read import read_events
from dh_bridge.session import Counts
from dh_bridge.sinks.abilities import left_out
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
    """What the pipeline's report says of the events, and with ``report`` of their fields; entities count once a window."""

    counts: Counts = field(default_factory=Counts)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, translation: Translation) -> None:
        """Count a translation, and warn of what could not be used."""
        self.counts.add(translation.counts)
        for letter in translation.dead:
            self.warning("An event cannot be used; the others go on", context=letter.text, log=False)
        for ours in translation.rejected:
            self.warning("A proposal is refused by its schema; please report it", context=ours.text, log=False)
        if translation.report is not None:
            told = [line["reason"] for line in translation.report.lines() if line["outcome"] == "dropped"]
            self.dropped.update(str(reason).partition(":")[0] for reason in told)

    def as_obj(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {**super().as_obj(), "counts": msgspec.to_builtins(self.counts)}


class _Hand(MemorySink):
    """The sink of the settings and of the ledger: what it takes are work units to be.

    ``left_out`` counts the CREATE proposals that a server of ``version`` would report as errors.
    """

    name = "datahub ingest"
    kind = SinkKind(scheme=name, versioned=True)

    def __init__(self, version: str | None) -> None:
        super().__init__()
        self._creates = drops_creates_silently(version)
        self.left_out: Counter[str] = Counter()

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Keep a batch."""
        kept = proposals if self._creates else [one for one in proposals if one.change_type != "CREATE"]
        if len(kept) < len(proposals):
            self.left_out[LEFT_OUT] += len(proposals) - len(kept)
        return super().emit(kept)

    def empty(self) -> list[Proposal]:
        """Return what was taken since the last time."""
        found, self.proposals = self.proposals, []
        return found


@platform_name("OpenLineage", id="openlineage")
@config_class(RecipeConfig)
class OpenLineageSource(Source):
    """Translates the OpenLineage events of files and folders; a SettingsError says what is wrong with the recipe.

    What DataHub's helpers add to every entity of a source (status, browse paths) is not added: lineage names tables that
    other connectors own, and would bring back what they removed. Transformers and sinks of the recipe work as ever.
    """

    def __init__(self, config: RecipeConfig, ctx: PipelineContext) -> None:
        super().__init__(ctx)
        self.config = config
        self.report = OpenLineageReport()
        self._bridge = Bridge(config.resolved(ctx.graph))
        self._settings = self._bridge.settings
        self._typed = bool(ctx.pipeline_config and ctx.pipeline_config.transformers)
        self._hand = _Hand(self._settings.profile)
        self._sink = around(self._hand, self._settings, ledger=self._settings.ledger.file is not None)
        self._ledger = self._settings.ledger.file
        known = noted(self._ledger, f"{_Hand.name}:")
        if known.target not in {None, _Hand.name}:
            raise SettingsError(
                f"is the ledger of {known.target}", where=str(self._ledger), now="name a file of its own"
            )

    def get_report(self) -> OpenLineageReport:
        """Return the report."""
        return self.report

    def get_workunit_processors(self) -> list[MetadataWorkUnitProcessor | None]:
        """Return what every work unit passes through: it is counted."""
        return [self._counted]

    def get_workunits_internal(self) -> Iterable[MetadataWorkUnit]:
        """Yield a work unit for each proposal, in the order in which they are to be written."""
        items = read_events(
            self.config.events, zone=self._bridge.zone, passed=self._tell_of_passed,
            follow_links=self._settings.follow_links, outside=self._report_link,
        )  # fmt: skip
        for translation in self._folded(items) if self._ledger is None else self._remembered(items, self._ledger):
            self.report.add(translation)
            for proposal in self._hand.empty():
                yield self._work_unit(proposal)
        self.report.counts.filtered.update(left_out(self._sink))
        if self._settings.profile is None:
            self.report.info(
                "Neither the settings nor a server state a DataHub version: the newest one is assumed",
                context=f"written for DataHub {newest_profile()}; if your server is older, state its version"
                " (settings: {profile: VERSION}), or name it in the recipe (datahub_api)",
                log=False,
            )

    def _tell_of_passed(self, file: Path) -> None:
        self.report.info(
            "Files of folders were passed over, as their endings are not those of events",
            context=f"{file}; read are {', '.join(SUFFIXES)}, and what is named itself",
            log=False,
        )

    def _report_link(self, link: Path) -> None:
        self.report.info(
            "Links that lead out of a folder of events were not followed",
            context=f"{link}; settings: {{follow_links: true}} follows them",
            log=False,
        )

    def _folded(self, items: Iterable[Event | DeadLetter]) -> Iterator[Translation]:
        for translation in self._bridge.stream(items, report=self.config.report):
            self._sink.emit(translation.proposals)
            yield translation

    def _remembered(self, items: Iterable[Event | DeadLetter], place: Path) -> Iterator[Translation]:
        """Fold into a ledger, or for a rehearsal into a copy of it.

        A source is not told what of its work units arrived, so the ledger may not count on it: whatever the events touch is
        written in full, and who runs the recipe again after an error loses nothing.
        """
        rehearsal = self.ctx.dry_run_mode or self.ctx.preview_mode
        with ExitStack() as stack:
            ledger = stack.enter_context(
                opened(
                    stack.enter_context(trial(place)) if rehearsal else place,
                    self._sink,
                    self._settings,
                    full=True,
                    report=self.config.report,
                    delivery=self.ctx.run_id,
                    target=_Hand.name,
                )
            )
            assert ledger is not None  # noqa: S101 - a file was named
            for translation, _ in ledger.stream(items):
                yield translation
            self._warn_of_what_waits(ledger)

    def _warn_of_what_waits(self, ledger: Ledger) -> None:
        courier = ledger.courier
        if waits := courier.outbox.count(last=courier.last)[0]:
            why = "`dh-bridge queue pause` holds them" if courier.outbox.paused else str(courier.broken)
            self.report.warning("Proposals wait in the ledger for a later run", context=f"{waits:,}: {why}")

    def _work_unit(self, proposal: Proposal) -> MetadataWorkUnit:
        """Return the work unit of a proposal; transformers understand aspects that are objects, sinks all of them."""
        name = f"{proposal.entity_urn}-{proposal.aspect_name}"
        made = (to_mcpw if self._typed else to_mcp)(proposal, version=self._settings.profile)
        if isinstance(made, MetadataChangeProposalWrapper):
            return MetadataWorkUnit(name, mcp=made)
        return MetadataWorkUnit(name, mcp_raw=made)

    def _counted(self, units: Iterable[MetadataWorkUnit]) -> Iterator[MetadataWorkUnit]:
        for unit in units:
            self.report.report_workunit(unit)
            yield unit
