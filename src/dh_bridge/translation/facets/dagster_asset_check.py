"""dagster_asset_check (run): what dataQualityAssertions cannot say of Dagster's checks of an asset.

https://github.com/dagster-io/community-integrations/tree/main/libraries/dagster-openlineage
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place
    from dh_bridge.translation.slots import Statements


class AssetCheck(Facet):
    """One evaluation of a check; ``check_metadata`` is text as Python shows it."""

    assertion: str = ""
    severity: str | None = None
    passed: bool | None = None
    check_metadata: dict[str, Any] | None = None


class DagsterAssetCheck(Facet):
    """The evaluations that one event tells of: Dagster sends an event for each."""

    checks: list[AssetCheck] | None = None


_KEPT = kept("dataProcessInstanceProperties.customProperties")


@facet(
    "dagster_asset_check",
    at="run",
    reads=DagsterAssetCheck,
    leaves={
        "checks[].assertion": _KEPT,
        "checks[].severity": _KEPT,
        "checks[].passed": _KEPT,
        "checks[].check_metadata.**": _KEPT,
    },
    producer="Dagster",
)
def dagster_asset_check(facet: DagsterAssetCheck, at: Place) -> Statements:
    """A property of the run for each check of each asset; an event of another check takes none of them away."""
    for check in facet.checks or ():
        name = f"dagster_asset_check.{at.event.name}.{check.assertion}"
        said = {leaf: getattr(check, leaf) for leaf in ("severity", "passed", "check_metadata")}
        written = {leaf: value for leaf, value in said.items() if value not in (None, {})}
        yield property_statement(at, {name: worded(name, written)}, part=f" {name}")
