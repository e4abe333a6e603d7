"""dagster_asset_check (run): facts about Dagster's asset checks that dataQualityAssertions does not have.

https://github.com/dagster-io/community-integrations/tree/main/libraries/dagster-openlineage
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import run_facet
from dh_bridge.model.facts import RUN_PROPERTIES
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


class AssetCheck(Facet):
    """One evaluation of a check; ``check_metadata`` is text as Python shows it."""

    assertion: str = ""
    severity: str | None = None
    passed: bool | None = None
    check_metadata: dict[str, Any] | None = None


class DagsterAssetCheck(Facet):
    """The evaluations in one event: Dagster sends an event for each."""

    checks: list[AssetCheck] | None = None


_KEY = "dagster_asset_check"
_PROPERTY_OUTCOME = as_property(RUN_PROPERTIES["*"])


@facet(
    _KEY,
    attach="run",
    struct=DagsterAssetCheck,
    outcomes={
        "checks[].assertion": _PROPERTY_OUTCOME,
        "checks[].severity": mapped(
            "assertionInfo", "assertionRunEvent.result", RUN_PROPERTIES["*"], allows_empty=True
        ),  # of dataQualityAssertions,
        "checks[].passed": _PROPERTY_OUTCOME,
        "checks[].check_metadata.**": as_property(RUN_PROPERTIES["*"], allows_empty=True),
    },
    producer="Dagster",
)
def dagster_asset_check(facet: DagsterAssetCheck, ctx: FacetContext) -> Facts:
    """One property of the run for each check of each asset. Events of other checks do not change it. The assertion gets the severity, too."""
    for check in facet.checks or ():
        name = f"{_KEY}.{ctx.event.name}.{check.assertion}"
        values = {field_name: getattr(check, field_name) for field_name in ("severity", "passed", "check_metadata")}
        fields = {field_name: value for field_name, value in values.items() if value not in (None, {})}
        yield property_fact(ctx, {name: present_property_text(name, fields)}, suffix=f" {name}")


def check_severities(ctx: FacetContext) -> dict[str, str]:
    """Return the severity of the checks of the event by name: Dagster states it here, and not with their results."""
    checks = run_facet(ctx, _KEY).get("checks")
    check_objects = [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    severity_pairs = ((check.get("assertion"), check.get("severity")) for check in check_objects)
    return {name: severity for name, severity in severity_pairs if isinstance(name, str) and isinstance(severity, str)}
