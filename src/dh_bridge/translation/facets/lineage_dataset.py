"""lineage (dataset): what feeds this dataset, said explicitly. https://openlineage.io/docs/spec/facets/dataset-facets/lineage"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, whole_statement
from dh_bridge.translation.facts import DATASET_PROPERTIES, UPSTREAM_GONE, Statements
from dh_bridge.translation.lineage.explicit import KEY, NO_SOURCE, Reading
from dh_bridge.translation.lineage.sources import FieldEntry, Source, target_leaves

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class LineageOfDataset(Facet):
    """Sources of the whole dataset (an empty list: it has none), and of each of its columns."""

    inputs: list[Source] | None = None
    fields: dict[str, FieldEntry] | None = None


def _retracts(_: dict[str, Any], at: Place) -> Statements:
    if at.role != "input":
        yield at.dataset, UPSTREAM_GONE, KEY, None
        yield at.dataset, DATASET_PROPERTIES, NO_SOURCE, {}


@facet("lineage", at="dataset", reads=LineageOfDataset, retracts=_retracts, leaves=target_leaves())
def lineage_dataset(facet: LineageOfDataset, at: Place) -> Statements:
    """Edges and pairs of columns, instead of columnLineage; an empty ``inputs`` withdraws the dataset's upstreams.

    A dataset event writes upstreamLineage. Of an input it is kept whole: a run tells of the lineage of what it writes.
    """
    assert at.name is not None  # noqa: S101 - a dataset's bag is read
    if at.role == "input":
        yield whole_statement(at)
        return
    reading = Reading(at)
    reading.dataset(at.name, facet.inputs, facet.fields)
    yield from reading.statements()
