"""dagster_asset_check (run): what dataQualityAssertions cannot say of Dagster's checks of an asset.

https://github.com/dagster-io/community-integrations/tree/main/libraries/dagster-openlineage
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import RUN_PROPERTIES
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.beside import of_run

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


class AssetCheck(Facet):
    """One evaluation of a check; ``check_metadata`` is text as Python shows it."""

    assertion: str = ""
    severity: str | None = None
    passed: bool | None = None
    check_metadata: dict[str, Any] | None = None


class DagsterAssetCheck(Facet):
    """The evaluations that one event tells of: Dagster sends an event for each."""

    checks: list[AssetCheck] | None = None


_KEY = "dagster_asset_check"
_KEPT = kept(RUN_PROPERTIES["*"])


@facet(
    _KEY,
    at="run",
    reads=DagsterAssetCheck,
    leaves={
        "checks[].assertion": _KEPT,
        "checks[].severity": mapped(
            "assertionInfo", "assertionRunEvent.result", RUN_PROPERTIES["*"], empty=True
        ),  # of dataQualityAssertions,
        "checks[].passed": _KEPT,
        "checks[].check_metadata.**": kept(RUN_PROPERTIES["*"], empty=True),
    },
    producer="Dagster",
)
def dagster_asset_check(facet: DagsterAssetCheck, at: Place) -> Statements:
    """A property of the run for each check of each asset, which an event of another one leaves; the severity is the check's, too."""
    for check in facet.checks or ():
        name = f"{_KEY}.{at.event.name}.{check.assertion}"
        said = {leaf: getattr(check, leaf) for leaf in ("severity", "passed", "check_metadata")}
        written = {leaf: value for leaf, value in said.items() if value not in (None, {})}
        yield property_statement(at, {name: worded(name, written)}, part=f" {name}")


def severities(at: Place) -> dict[str, str]:
    """Return how severe the checks of the event are, by name: Dagster says so here, and not where their results are."""
    checks = of_run(at, _KEY).get("checks")
    told = [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    said = ((check.get("assertion"), check.get("severity")) for check in told)
    return {name: severity for name, severity in said if isinstance(name, str) and isinstance(severity, str)}
