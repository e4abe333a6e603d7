"""lineage (dataset): what feeds this dataset, said explicitly. https://openlineage.io/docs/spec/facets/dataset-facets/lineage"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, facet, whole_facet_fact
from dh_bridge.lineage.explicit import KEY, NO_SOURCE, ExplicitLineageBuilder
from dh_bridge.lineage.sources import FieldEntry, LineageSource, target_outcomes
from dh_bridge.model.facts import DATASET_PROPERTIES, UPSTREAM_TOMBSTONE, Facts

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class DatasetLineageFacet(Facet):
    """Sources of the whole dataset (an empty list: it has none), and of each of its columns."""

    inputs: list[LineageSource] | None = None
    fields: dict[str, FieldEntry] | None = None


def _retract(_: dict[str, Any], ctx: FacetContext) -> Facts:
    if ctx.role != "input":
        yield ctx.dataset_urn, UPSTREAM_TOMBSTONE, KEY, None
        yield ctx.dataset_urn, DATASET_PROPERTIES, NO_SOURCE, {}


@facet("lineage", attach="dataset", struct=DatasetLineageFacet, retract=_retract, outcomes=target_outcomes())
def lineage_dataset(facet: DatasetLineageFacet, ctx: FacetContext) -> Facts:
    """Edges and pairs of columns, instead of columnLineage; an empty ``inputs`` withdraws the dataset's upstreams.

    A dataset event writes upstreamLineage. Of an input it is kept whole: a run tells of the lineage of what it writes.
    """
    assert ctx.name is not None  # noqa: S101 - a dataset's bag is read
    if ctx.role == "input":
        yield whole_facet_fact(ctx)
        return
    builder = ExplicitLineageBuilder(ctx)
    builder.add_dataset(ctx.name, facet.inputs, facet.fields)
    yield from builder.build_facts()
