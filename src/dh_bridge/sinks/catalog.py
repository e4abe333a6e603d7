"""The catalogue sink: the embedded SQLite catalogue as a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import SINK_KINDS, Closable, StoredAspect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from types import TracebackType

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Delivery, SinkOptions


class CatalogSink(Closable, Readable):
    """Applies each batch to ``catalog`` in one transaction; it owns the catalogue and closes it."""

    name = "catalog"
    kind = SINK_KINDS[name]

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._is_closed = False

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Apply a batch; proposals that DataHub would reject are among the failures, the others are stored."""
        if self._is_closed:
            raise SinkError("the sink is closed", location=f"catalog:{self.catalog.path}")
        return self.catalog.apply(proposals)

    def read(self, aspects_by_urn: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Return the present aspects; in ``aspects_by_urn``, no names stand for all aspects."""
        stored_aspects = {}
        for urn, names in aspects_by_urn.items():
            aspects = self.catalog.aspects(urn)
            if aspects:
                stored_aspects[urn] = {
                    name: StoredAspect(value) for name, value in aspects.items() if not names or name in names
                }
        return stored_aspects

    def urns(self) -> Iterable[str]:
        """Return the URNs of all entities."""
        return self.catalog.entities()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._is_closed = True
        self.catalog.__exit__(kind, error, trace)

    def close(self) -> None:
        """Close the catalogue."""
        self._is_closed = True
        self.catalog.close()


def open_target(address: str, options: SinkOptions) -> CatalogSink:
    """Return the sink of ``catalog:FILE``; a SettingsError for an option that it cannot apply."""
    if not address:
        raise SettingsError("catalog: requires a file", location="--to", remedy="write --to catalog:FILE")
    if options.file_format:
        raise SettingsError("not supported by catalog:", location="--format", remedy="remove this option")
    return CatalogSink(Catalog(address))


def open_readonly(address: str) -> CatalogSink:
    """Return a read-only sink of an existing catalogue; a SinkError if it does not exist."""
    return CatalogSink(Catalog(address, readonly=True))
