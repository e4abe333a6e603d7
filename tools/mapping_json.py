"""docs/mapping.json: what the bridge maps and what it knowingly does not, as consumers of OpenLineage's compatibility tests say it.

The form (https://github.com/OpenLineage/compatibility-tests, consumers): ``mapped`` holds ``core`` (the envelope) and an
object per facet, field -> where it goes; ``knownUnmapped`` holds the fields of each facet that go nowhere, ``*`` for all.
Facets of the specification are called as their schema is, those of one producer as their key in the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from tables import target_paths

from dh_bridge.facet_support.envelope import ENVELOPE_PROPERTIES, ENVELOPE_TARGETS
from dh_bridge.facet_support.facet_spec import PROPERTY_KINDS
from dh_bridge.facets import specs
from dh_bridge.render.targets import documented_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.facet_support.facet_spec import FacetSpec

_CORE = {"$.run.runId": "run.id", "$.inputs[]": "input", "$.outputs[]": "output"}
_ENDS = {"run": "RunFacet", "job": "JobFacet", "dataset": "DatasetFacet"}
_IRREGULAR: dict[str, tuple[str, ...]] = {  # schemas that are not called by key and attach point
    "sql": ("SQLJobFacet",),
    "dataSource": ("DatasourceDatasetFacet",),
    "version": ("DatasetVersionDatasetFacet",),
    "dataQualityMetrics": ("DataQualityMetricsDatasetFacet", "DataQualityMetricsInputDatasetFacet"),
    "inputStatistics": ("InputStatisticsInputDatasetFacet",),
    "outputStatistics": ("OutputStatisticsOutputDatasetFacet",),
    "subset": ("InputSubsetInputDatasetFacet", "OutputSubsetOutputDatasetFacet"),
    "icebergScanReport": ("IcebergScanReportInputDatasetFacet",),
    "icebergCommitReport": ("IcebergCommitReportOutputDatasetFacet",),
    "gcp_lineage": ("GcpLineageJobFacet",),
    "gcp_dataproc": ("GcpDataprocRunFacet",),
    "gcp_composer_run": ("GcpComposerRunFacet",),
    "gcp_composer_job": ("GcpComposerJobFacet",),
}


def mapping_page() -> str:
    """Return docs/mapping.json."""
    mapped = {"core": {_core(path): _text(targets) for path, targets in sorted(_envelope().items())}}
    unmapped: dict[str, list[str]] = {}
    for spec in specs():
        reached = {path: _text(target_paths(row, spec)) for path, row in spec.outcomes.items() if not row.reason}
        nowhere = [path for path, row in spec.outcomes.items() if row.reason]
        for name in schema_names(spec):
            if reached:
                mapped[name] = mapped.get(name, {}) | reached
            if nowhere:
                unmapped[name] = nowhere if reached else ["*"]
    page = {"mapped": mapped, "knownUnmapped": dict(sorted(unmapped.items()))}
    return orjson.dumps(page, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def schema_names(spec: FacetSpec) -> tuple[str, ...]:
    """Return what the facet's schema is called: a facet of the specification has one, or two (input and output)."""
    key = spec.keys[0]
    if key in _IRREGULAR:
        return _IRREGULAR[key]
    if spec.producer:
        return (key,)
    return ("".join(word[:1].upper() + word[1:] for word in key.split("_")) + _ENDS[spec.attach],)


def _envelope() -> dict[str, dict[str, None]]:
    """Return where the fields of the envelope go, over the three kinds of event."""
    found: dict[str, dict[str, None]] = {}
    for (_, path), targets in ENVELOPE_TARGETS.items():
        found.setdefault(path, {}).update(
            dict.fromkeys(path for target in targets for path in documented_paths(target))
        )
    for (key,), name in ENVELOPE_PROPERTIES.items():
        found[f"$.{key}"] = dict.fromkeys(
            path for kind in PROPERTY_KINDS.values() for path in documented_paths(kind[name])
        )
    return found


def _core(path: str) -> str:
    for begins, name in _CORE.items():
        if path.startswith(begins):
            return path.replace(begins, name, 1)
    return path.removeprefix("$.")


def _text(targets: Iterable[str]) -> str:
    return ", ".join(targets)
