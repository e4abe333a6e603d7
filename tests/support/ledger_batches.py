"""Events that a ledger processes in batches, and the resulting catalogue."""

from __future__ import annotations

import json
from datetime import timezone
from functools import cache
from weakref import finalize

from dh_bridge import Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import Options
from dh_bridge.sinks.catalog import CatalogSink

NOW = 1_796_000_000
UTC = timezone.utc


@cache
def settings(**stated):
    return Settings(**{"datahub_version": "0.15.0", **stated})


@cache
def _compiled(stated):
    return Options(Settings.model_validate_json(stated), is_stateful=True)


def compiled(chosen):
    """Return the options of settings, compiled once: that takes longer than most stories."""
    return _compiled((chosen or settings()).model_dump_json(by_alias=True))


def read(events):
    """Return events as the reader gives them; dicts are written as JSON first."""
    return [
        found
        for position, one in enumerate(events)
        for found in (events_of(json.dumps(one).encode(), f"e{position}", UTC) if isinstance(one, dict) else [one])
    ]


class LedgerCase:
    """A ledger with its catalogue in memory; ``forgetful``: as a new process for each batch."""

    def __init__(self, chosen=None, *, forgetful=False, clock=lambda: NOW):
        self.catalog = Catalog(":memory:")
        finalize(self, self.catalog.close)
        self.ledger = Ledger(self.catalog, compiled(chosen), CatalogSink(self.catalog), clock=clock)
        self.refused = []
        self._forgetful = forgetful

    def process(self, *batches):
        """Take batches of events; return the proposals that were sent for them."""
        sent = []
        for batch in batches:
            translation, delivery = self.ledger.process_and_deliver(read(batch))
            sent += translation.proposals
            self.refused += [*translation.rejected, *delivery.failures]
            if self._forgetful:
                self.ledger._aggregator.clear_cache()
        return sent

    def dump(self):
        assert self.refused == []
        return list(dump_catalog(self.catalog))


def catalogue(*batches, chosen=None, forgetful=False):
    """Return the dump after these batches."""
    ledger_case = LedgerCase(chosen, forgetful=forgetful)
    ledger_case.process(*batches)
    return ledger_case.dump()
