"""The assertionInfo aspect: the definition of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.assertions.check import Check, meaningful_value
from dh_bridge.assertions.native import build_native_form
from dh_bridge.assertions.reading import ParsedCheck, parse_check
from dh_bridge.datahub import urns
from dh_bridge.model.properties import PREFIX, json_text, limit_properties, masked_property_text, truncate
from dh_bridge.redaction import redact, redact_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dh_bridge.assertions.native import ColumnLookup
    from dh_bridge.assertions.table import AssertionTable
    from dh_bridge.datahub.profiles import Profile

AssertionType = Literal["auto", "dataset", "native"]

DESCRIPTION_CAP = 65_536
LOGIC_CAP = 32_000
NATIVE_TYPE_CAP = 4000
MAX_NATIVE_PARAMETERS = 50


def assertion_info(  # noqa: PLR0913 - the parts of the aspect
    check: Check,
    dataset_urn: str,
    *,
    profile: Profile,
    platform: str,
    table: AssertionTable,
    column_path: Callable[[str], str] | None = None,
    label: str,
    kind: AssertionType = "auto",
    find_column: ColumnLookup | None = None,
    properties: Mapping[str, str] | None = None,
    external_url: str | None = None,
    prefix: str = "openlineage.",
) -> dict[str, Any]:
    """Return the aspect's JSON: a DATASET assertion, since DataHub 1.7 a CUSTOM one with the type ``label`` (``dbt Test``).

    ``kind`` ``dataset``: a DATASET assertion for every version; it is deprecated since 1.7, but accepted. ``native``: one
    of DataHub's own types, if the check has one and all required values are known; ``find_column`` looks up a field path in the
    schema. Values without a field in these types become custom properties.
    The aspect has no values that differ from run to run, so it changes only if the check changes. ``properties`` are
    further custom properties with their full names; ``external_url`` is written if it is a web address.
    """
    parsed_check = parse_check(check, platform, table)
    is_custom = kind != "dataset" and profile.is_at_least(1, 7)
    typed_fields = _build_typed_fields(check, parsed_check, table)
    native_part = None
    if kind == "native":
        native_part = build_native_form(check, parsed_check, dataset_urn, column_path or str, find_column or _no_column)
    custom_properties = (
        dict(properties or {})
        if native_part is None
        else {**_typed_field_properties(typed_fields, prefix), **(properties or {})}
    )
    info: dict[str, Any] = {"customProperties": _build_properties(check, prefix, custom_properties)}
    if external_url is not None and external_url.startswith(("http://", "https://")):
        info["externalUrl"] = external_url
    fields = _field_urns(parsed_check, dataset_urn, column_path)
    if native_part is not None:
        info |= native_part
    elif is_custom:
        info["type"] = "CUSTOM"
        header = {"type": label, "entity": dataset_urn, **({"field": fields[0], "fields": fields} if fields else {})}
        info["customAssertion"] = {**header, "scope": parsed_check.scope, **typed_fields}
    else:
        info["type"] = "DATASET"
        header = {"dataset": dataset_urn, "scope": parsed_check.scope, **({"fields": fields} if fields else {})}
        info["datasetAssertion"] = {**header, **typed_fields}
    # no `created`: unknown, and it would make the aspect differ from run to run
    info["source"] = {"type": "EXTERNAL"}
    if (description := meaningful_value(check.description)) is not None:
        info["description"] = truncate(redact(description), DESCRIPTION_CAP)
    return info


def _no_column(_: str) -> None:
    return None


def _typed_field_properties(typed_fields: dict[str, Any], prefix: str) -> dict[str, str]:
    """Return the fields that only the ordinary forms have, as custom properties."""
    properties = {
        prefix + key: masked_property_text(prefix + key, typed_fields[key])
        for key in ("nativeType", "logic")
        if key in typed_fields
    }
    properties |= {f"{prefix}params.{key}": value for key, value in typed_fields.get("nativeParameters", {}).items()}
    return {key: value for key, value in properties.items() if value is not None}


def assertion_platform(platform: str, instance: str | None = None) -> dict[str, Any]:
    """Return the dataPlatformInstance aspect that an EXTERNAL assertion is expected to have."""
    aspect = {"platform": urns.platform_urn(platform)}
    return {**aspect, "instance": urns.platform_instance_urn(platform, instance)} if instance else aspect


def native_parameters(check: Check, table: AssertionTable) -> dict[str, str]:
    """Return the producer's parameters of the check as text: at most 50, without those that differ from run to run."""
    params = {**check.params, "expected": check.params.get("expected", check.expected)}
    parameters: dict[str, str] = {}
    for key in sorted(params):
        value = meaningful_value(params[key])
        if key in table.run_parameters or value is None:
            continue
        value_text = masked_property_text(key, value)
        if value_text is not None and len(parameters) < MAX_NATIVE_PARAMETERS:
            parameters[key] = value_text
    return parameters


def dropped_parameters(check: Check, platform: str, table: AssertionTable, kind: AssertionType = "auto") -> list[str]:
    """Return the names of the parameters that there is no room for, neither among the native ones nor in a typed field.

    DataHub's own types (``kind`` ``native``) keep them as custom properties, of which there is less.
    """
    parameters = native_parameters(check, table)
    if len(check.params) <= MAX_NATIVE_PARAMETERS and kind != "native":
        return []
    parsed_check = parse_check(check, platform, table)
    if kind == "native" and parsed_check.offers:
        properties = _build_properties(
            check, PREFIX, _typed_field_properties(_build_typed_fields(check, parsed_check, table), PREFIX)
        )
        parameters = {key: value for key, value in parameters.items() if f"{PREFIX}params.{key}" in properties}
    typed_values = {parameter["value"] for parameter in parsed_check.parameters.values()}
    return [
        key
        for key, value in check.params.items()
        if key not in parameters
        and key not in table.run_parameters
        and meaningful_value(value) is not None
        and json_text(value) not in typed_values
    ]


def _build_typed_fields(check: Check, parsed_check: ParsedCheck, table: AssertionTable) -> dict[str, Any]:
    fields: dict[str, Any] = {"aggregation": parsed_check.aggregation, "operator": parsed_check.operator}
    if parsed_check.parameters:
        fields["parameters"] = parsed_check.parameters
    fields["nativeType"] = truncate(parsed_check.native, NATIVE_TYPE_CAP)
    if parameters := native_parameters(check, table):
        fields["nativeParameters"] = parameters
    if parsed_check.logic is not None:
        fields["logic"] = truncate(redact_sql(parsed_check.logic), LOGIC_CAP)
    return fields


def _field_urns(parsed_check: ParsedCheck, dataset_urn: str, column_path: Callable[[str], str] | None) -> list[str]:
    """Return the URNs of the columns; one that DataHub would refuse is left out."""
    paths = [column_path(column) if column_path is not None else column for column in parsed_check.columns]
    field_urns = (urns.schema_field_urn(dataset_urn, path) for path in dict.fromkeys(paths))
    return [urn for urn in field_urns if urns.is_urn(urn)]


def _build_properties(check: Check, prefix: str, extra_properties: Mapping[str, str]) -> dict[str, str]:
    check_values = {
        "name": check.name,
        "severity": check.severity,
        "contentType": check.content_type,
        "facet": check.source,
    }
    properties = {
        prefix + key: masked_property_text(prefix + key, meaningful_value(value)) for key, value in check_values.items()
    }
    return limit_properties(
        {**{key: value for key, value in properties.items() if value is not None}, **extra_properties}
    )
