"""From the arguments of an assertion to its URN, its assertionInfo and its dataset."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.assertions import (
    Check,
    assertion_info,
    assertion_urn,
    dropped_parameters,
    redact_check_values,
)
from dh_bridge.datahub import urns
from dh_bridge.datahub.urns import datahub_guid
from dh_bridge.errors import EventError
from dh_bridge.identity.producers import load_producer_mappings
from dh_bridge.model.properties import json_text, masked_property_text, truncate
from dh_bridge.redaction import REDACTED, is_hidden_key, redact, redact_json, redaction_mode
from dh_bridge.sdk.arguments import require_texts, require_valid
from dh_bridge.sdk.assertion import Assertion
from dh_bridge.sdk.definitions import AssertionTarget, Definition
from dh_bridge.sdk.plain import to_plain
from dh_bridge.sdk.references import DatasetRef, ResolvedDataset, resolve_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from dh_bridge.sdk.recorder import Recorder

#: Short argument names -> the names that the rows of the table use.
_LONG_NAMES = {"min": "min_value", "max": "max_value"}


class CheckDescription(msgspec.Struct, frozen=True):
    """The arguments of an assertion beside its definition; see :meth:`~dh_bridge.sdk.pipeline.Pipeline.assertion`."""

    platform: str
    instance: str | None = None
    suite: str | None = None
    id: str | None = None
    name: str | None = None
    description: str | None = None
    properties: dict[str, Any] = {}
    url: str | None = None


def build_assertion(
    recorder: Recorder,
    dataset: DatasetRef,
    check: str | Definition,
    description: CheckDescription,
    params: dict[str, Any],
) -> Assertion:
    """Return the check for a name or a definition, on ``dataset``."""
    require_texts(
        platform=description.platform, instance=description.instance, description=description.description, url=description.url,
        logic=params.get("logic"),
    )  # fmt: skip
    target_dataset = _resolve_entity(recorder, dataset)
    with redaction_mode(recorder.options.settings.redaction):
        if isinstance(check, str):
            return _build_named(recorder, target_dataset, check, description, params)
        if not isinstance(check, Definition):
            raise EventError(
                f"expected a check, got {check!r}",
                location="check",
                remedy="pass a name, or a definition such as Volume(min=1)",
            )
        require_valid(check)
        if params:
            raise EventError(
                f"a definition allows no further parameters: {', '.join(params)}",
                location="assertion",
                remedy="set them in the definition",
            )
        return _build_defined(recorder, target_dataset, check, description)


def _resolve_entity(recorder: Recorder, ref: DatasetRef) -> ResolvedDataset:
    """Return the dataset; the URN of a dataJob is accepted, for freshness of its runs."""
    if isinstance(ref, str) and urns.type_if_urn(ref) == "dataJob":
        return ResolvedDataset(ref)
    return resolve_dataset(ref, recorder.options)


def _build_named(
    recorder: Recorder, dataset: ResolvedDataset, kind: str, description: CheckDescription, params: dict[str, Any]
) -> Assertion:
    if urns.entity_type(dataset.urn) != "dataset":
        raise EventError(
            f"{dataset.urn} is not a dataset", location="dataset", remedy="use a dataset: only Freshness supports jobs"
        )
    params = {_LONG_NAMES.get(key, key): to_plain(value) for key, value in params.items() if value is not None}
    column, content = params.pop("column", None), params.pop("logic", None)
    check = Check(
        kind,
        column=column,
        name=description.name,
        description=description.description,
        content=content,
        params=params,
        source="",
    )
    options, assertion_settings = recorder.options, recorder.options.settings.assertions
    assertion_table = options.tables.assertions
    urn = _to_assertion_urn(description.id) or assertion_urn(
        check,
        dataset.urn,
        description.platform,
        assertion_table,
        instance=description.instance,
        column_path=dataset.spell_column,
        identity=assertion_settings.identity,
    )  # the one that OpenLineage's facets give the same check
    check, hidden_fields = redact_check_values(check, description.platform, assertion_table)
    info = assertion_info(
        check, dataset.urn,
        profile=options.profile, platform=description.platform, table=assertion_table, column_path=dataset.spell_column, prefix=options.prefix,
        kind=assertion_settings.type,
        label=_label(description.platform, options.settings.mappings),
        properties=_properties(description), external_url=_url(description),
    )  # fmt: skip
    dropped_paths = [
        f"parameters.{key}"
        for key in dropped_parameters(check, description.platform, assertion_table, assertion_settings.type)
    ]
    dropped_paths += [f"properties.{key}" for key in _properties(description) if key not in info["customProperties"]]
    secret_paths = [f"parameters.{field.removeprefix('params.')}" for field in hidden_fields]
    return Assertion(
        recorder, urn, dataset, check, info, description.platform, description.instance, dropped_paths, secret_paths
    )


def _build_defined(
    recorder: Recorder, dataset: ResolvedDataset, check: Definition, description: CheckDescription
) -> Assertion:
    kind = urns.entity_type(dataset.urn)
    platform = urns.parse_urn(dataset.urn)[1][0].rpartition(":")[2] if kind == "dataset" else ""
    content = check.info(
        AssertionTarget(dataset.urn, dataset.spell_column, platform),
        lambda path, label: recorder.require_field("assertionInfo", path, label),
    )
    key = {
        "platform": description.platform, "instance": description.instance, "dataset": dataset.urn, "type": content["type"], "d": description.name,
    }  # fmt: skip
    if description.name is None and recorder.options.settings.assertions.identity == "full":
        key["d"] = json_text(content)
    elif description.name is None:  # checks of one kind, form and column have one URN
        form = (part["type"] for part in content.values() if isinstance(part, dict) and "type" in part)
        key |= {"form": next(form, None), "column": getattr(check, "column", None)}
    info: dict[str, Any] = {"customProperties": _properties(description)}
    if description.name is not None:
        info["customProperties"] = {
            recorder.options.prefix + "name": truncate(description.name),
            **info["customProperties"],
        }
    if description.url is not None:
        info["externalUrl"] = _url(description)
    column = getattr(check, "column", None)
    info |= redact_json(_without_values(content) if column is not None and is_hidden_key(column) else content)
    info["source"] = {"type": "EXTERNAL"}
    if description.description:
        info["description"] = truncate(redact(description.description), 65_536)
    urn = _to_assertion_urn(description.id) or urns.assertion_urn(
        datahub_guid({name: value for name, value in key.items() if value is not None})
    )
    # the filter is part of the check, because a result covers these rows only
    row_filter = getattr(check, "filter", None)
    params = {"filter": row_filter} if row_filter is not None else {}
    native_check = Check(content["type"], column=column, params=params, source="")
    return Assertion(recorder, urn, dataset, native_check, info, description.platform, description.instance)


def _without_values(content: dict[str, Any]) -> dict[str, Any]:
    """Return the check without the texts that may be values of a column with a sensitive name."""
    visible = {key: _without_values(member) if isinstance(member, dict) else member for key, member in content.items()}
    if "parameters" in content and content["operator"] != "REGEX_MATCH":
        limits = content["parameters"].items()
        visible["parameters"] = {
            name: member if member["type"] == "NUMBER" else {**member, "value": REDACTED} for name, member in limits
        }
    return visible


def _to_assertion_urn(identifier: str | None) -> str | None:
    if identifier is None or identifier.startswith("urn:li:assertion:"):
        return identifier
    return urns.assertion_urn(identifier)


def _properties(description: CheckDescription) -> dict[str, str]:
    """Return the custom properties; ``suite_name`` is the key of DataHub's own Great Expectations action."""
    values = {"suite_name": description.suite, **description.properties}
    texts = {key: masked_property_text(key, to_plain(value)) for key, value in values.items()}
    return {key: value for key, value in texts.items() if value is not None}


def _url(description: CheckDescription) -> str | None:
    return redact(description.url) if description.url is not None else None


@lru_cache
def _label(platform: str, overlay: Path | None) -> str:
    """Return the type that DataHub shows for the checks of a platform: ``dbt Test``."""
    labels = (row.assertion_label for _, row in load_producer_mappings(overlay) if row.platform == platform)
    return next((label for label in labels if label), f"{platform} check")
