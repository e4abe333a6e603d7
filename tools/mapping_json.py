"""docs/mapping.json: what the bridge maps and what it knowingly does not, as consumers of OpenLineage's compatibility tests say it.

The form (https://github.com/OpenLineage/compatibility-tests, consumers): ``mapped`` holds ``core`` (the envelope) and an
object per facet, leaf -> where it goes; ``knownUnmapped`` holds the leaves of each facet that go nowhere, ``*`` for all.
Facets of the specification are called as their schema is, those of one producer as their key in the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from dh_bridge.translation.envelope import ENVELOPE, ENVELOPE_KEPT
from dh_bridge.translation.facet import PROPERTY_ASPECTS
from dh_bridge.translation.facets import specs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.translation.facet import FacetSpec, Leaf

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
        reached = {path: _goes(spec, path, leaf) for path, leaf in spec.leaves.items() if leaf.verdict != "withheld"}
        nowhere = [path for path, leaf in spec.leaves.items() if leaf.verdict == "withheld"]
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
    return ("".join(word[:1].upper() + word[1:] for word in key.split("_")) + _ENDS[spec.at],)


def _goes(spec: FacetSpec, path: str, leaf: Leaf) -> str:
    targets = leaf.targets or (f"[openlineage.{spec.keys[0]}.{path.replace('[]', '')}]",)
    homes = PROPERTY_ASPECTS[spec.at]
    return _text(
        whole
        for target in targets
        for whole in ([f"{home}.customProperties{target}" for home in homes] if target.startswith("[") else [target])
    )


def _envelope() -> dict[str, dict[str, None]]:
    """Return where the leaves of the envelope go, over the three kinds of event."""
    found: dict[str, dict[str, None]] = {}
    for (_, path), targets in ENVELOPE.items():
        found.setdefault(path, {}).update(dict.fromkeys(targets))
    owners = [aspect for aspects in PROPERTY_ASPECTS.values() for aspect in aspects]
    for (key,), name in ENVELOPE_KEPT.items():
        found[f"$.{key}"] = dict.fromkeys(f"{aspect}.customProperties[openlineage.{name}]" for aspect in owners)
    return found


def _core(path: str) -> str:
    for begins, name in _CORE.items():
        if path.startswith(begins):
            return path.replace(begins, name, 1)
    return path.removeprefix("$.")


def _text(targets: Iterable[str]) -> str:
    return ", ".join(targets)
