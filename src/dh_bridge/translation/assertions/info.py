"""The assertionInfo aspect: what is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.datahub import urns
from dh_bridge.redaction import redacted, redacted_sql
from dh_bridge.translation.assertions.check import Check, said
from dh_bridge.translation.assertions.native import native_form
from dh_bridge.translation.assertions.reading import Reading, read
from dh_bridge.translation.properties import PREFIX, bounded, capped, kept_unmasked, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dh_bridge.datahub.profiles import Profile
    from dh_bridge.translation.assertions.native import ColumnOf
    from dh_bridge.translation.assertions.table import AssertionTable

Kind = Literal["auto", "dataset", "native"]

DESCRIPTION_CAP = 65_536
LOGIC_CAP = 32_000
NATIVE_TYPE_CAP = 4000
MOST_PARAMETERS = 50


def assertion_info(  # noqa: PLR0913 - what the aspect is made of
    check: Check,
    dataset_urn: str,
    *,
    profile: Profile,
    platform: str,
    table: AssertionTable,
    column_path: Callable[[str], str] | None = None,
    label: str,
    kind: Kind = "auto",
    column: ColumnOf | None = None,
    properties: Mapping[str, str] | None = None,
    external_url: str | None = None,
    prefix: str = "openlineage.",
) -> dict[str, Any]:
    """Return the aspect's JSON: a DATASET assertion, from DataHub 1.7 on a CUSTOM one called ``label`` (``dbt Test``).

    ``kind`` ``dataset``: a DATASET assertion for every version; it is deprecated from 1.7 on, but accepted. ``native``: one
    of DataHub's own types where the check has one and all that it needs is known; ``column`` looks a field path up in the
    schema. What these types have no place for becomes custom properties.
    It holds nothing that differs from run to run, so that it changes only when the check does. ``properties`` are
    further custom properties under their whole keys; ``external_url`` is written when it is a web address.
    """
    found = read(check, platform, table)
    custom = kind != "dataset" and profile.at_least(1, 7)
    typed = _typed(check, found, table)
    native = None
    if kind == "native":
        native = native_form(check, found, dataset_urn, column_path or str, column or _unknown)
    more = dict(properties or {}) if native is None else {**_untyped(typed, prefix), **(properties or {})}
    info: dict[str, Any] = {"customProperties": _properties(check, prefix, more)}
    if external_url is not None and external_url.startswith(("http://", "https://")):
        info["externalUrl"] = external_url
    fields = _fields(found, dataset_urn, column_path)
    if native is not None:
        info |= native
    elif custom:
        info["type"] = "CUSTOM"
        head = {"type": label, "entity": dataset_urn, **({"field": fields[0], "fields": fields} if fields else {})}
        info["customAssertion"] = {**head, "scope": found.scope, **typed}
    else:
        info["type"] = "DATASET"
        head = {"dataset": dataset_urn, "scope": found.scope, **({"fields": fields} if fields else {})}
        info["datasetAssertion"] = {**head, **typed}
    # no `created`: unknown, and it would make the aspect differ from run to run
    info["source"] = {"type": "EXTERNAL"}
    if (description := said(check.description)) is not None:
        info["description"] = capped(redacted(description), DESCRIPTION_CAP)
    return info


def _unknown(_: str) -> None:
    return None


def _untyped(typed: dict[str, Any], prefix: str) -> dict[str, str]:
    """Return what the ordinary forms have fields for, as custom properties."""
    found = {prefix + key: kept_unmasked(prefix + key, typed[key]) for key in ("nativeType", "logic") if key in typed}
    found |= {f"{prefix}params.{key}": value for key, value in typed.get("nativeParameters", {}).items()}
    return {key: value for key, value in found.items() if value is not None}


def assertion_platform(platform: str, instance: str | None = None) -> dict[str, Any]:
    """Return the dataPlatformInstance aspect that an EXTERNAL assertion is expected to have."""
    aspect = {"platform": urns.platform_urn(platform)}
    return {**aspect, "instance": urns.platform_instance_urn(platform, instance)} if instance else aspect


def native_parameters(check: Check, table: AssertionTable) -> dict[str, str]:
    """Return what the producer says of the check, as text: at most 50 parameters, those of one run left out."""
    params = {**check.params, "expected": check.params.get("expected", check.expected)}
    found: dict[str, str] = {}
    for key in sorted(params):
        value = said(params[key])
        if key in table.of_the_run or value is None:
            continue
        written = kept_unmasked(key, value)
        if written is not None and len(found) < MOST_PARAMETERS:
            found[key] = written
    return found


def untold_parameters(check: Check, platform: str, table: AssertionTable, kind: Kind = "auto") -> list[str]:
    """Return the names of the parameters that there is no room for, neither among the native ones nor in a typed field.

    DataHub's own types (``kind`` ``native``) keep them as custom properties, of which there is less.
    """
    told = native_parameters(check, table)
    if len(check.params) <= MOST_PARAMETERS and kind != "native":
        return []
    found = read(check, platform, table)
    if kind == "native" and found.offers:
        left = _properties(check, PREFIX, _untyped(_typed(check, found, table), PREFIX))
        told = {key: value for key, value in told.items() if f"{PREFIX}params.{key}" in left}
    typed = {one["value"] for one in found.parameters.values()}
    return [
        key
        for key, value in check.params.items()
        if key not in told and key not in table.of_the_run and said(value) is not None and text(value) not in typed
    ]


def _typed(check: Check, found: Reading, table: AssertionTable) -> dict[str, Any]:
    typed: dict[str, Any] = {"aggregation": found.aggregation, "operator": found.operator}
    if found.parameters:
        typed["parameters"] = found.parameters
    typed["nativeType"] = capped(found.native, NATIVE_TYPE_CAP)
    if native := native_parameters(check, table):
        typed["nativeParameters"] = native
    if found.logic is not None:
        typed["logic"] = capped(redacted_sql(found.logic), LOGIC_CAP)
    return typed


def _fields(found: Reading, dataset_urn: str, column_path: Callable[[str], str] | None) -> list[str]:
    """Return the URNs of the columns; one that DataHub would refuse is left out."""
    paths = [column_path(column) if column_path is not None else column for column in found.columns]
    fields = (urns.schema_field_urn(dataset_urn, path) for path in dict.fromkeys(paths))
    return [urn for urn in fields if urns.is_urn(urn)]


def _properties(check: Check, prefix: str, more: Mapping[str, str]) -> dict[str, str]:
    own = {"name": check.name, "severity": check.severity, "contentType": check.content_type, "facet": check.source}
    found = {prefix + key: kept_unmasked(prefix + key, said(value)) for key, value in own.items()}
    return bounded({**{key: value for key, value in found.items() if value is not None}, **more})
