"""From what a caller says of a check to the check: its URN, its assertionInfo, its dataset."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub import urns
from dh_bridge.datahub.guid import datahub_guid
from dh_bridge.errors import EventError
from dh_bridge.redaction import REDACTED, hides, redacted, redacted_json, redaction
from dh_bridge.sdk.arguments import need_sound, need_texts
from dh_bridge.sdk.assertion import Assertion
from dh_bridge.sdk.definitions import Definition, Target
from dh_bridge.sdk.plain import plain
from dh_bridge.sdk.references import DatasetRef, Table, table
from dh_bridge.translation.assertions import (
    Check,
    assertion_info,
    assertion_urn,
    untold_parameters,
    without_values,
)
from dh_bridge.translation.identity.producers import rows
from dh_bridge.translation.properties import capped, kept_unmasked, text

if TYPE_CHECKING:
    from pathlib import Path

    from dh_bridge.sdk.pipeline import Pipeline

#: What callers say in short, and what the table's rows look for.
_LONG = {"min": "min_value", "max": "max_value"}


class Checked(msgspec.Struct, frozen=True):
    """What is said of a check beside what it checks; see :meth:`~dh_bridge.sdk.pipeline.Pipeline.assertion`."""

    platform: str
    instance: str | None = None
    suite: str | None = None
    id: str | None = None
    name: str | None = None
    description: str | None = None
    properties: dict[str, Any] = {}
    url: str | None = None


def named_check(
    pipeline: Pipeline, dataset: DatasetRef, check: str | Definition, said: Checked, params: dict[str, Any]
) -> Assertion:
    """Return the check that a name or a definition says, on ``dataset``."""
    need_texts(
        platform=said.platform, instance=said.instance, description=said.description, url=said.url,
        logic=params.get("logic"),
    )  # fmt: skip
    on = _entity(pipeline, dataset)
    with redaction(pipeline.options.settings.redaction):
        if isinstance(check, str):
            return _named(pipeline, on, check, said, params)
        if not isinstance(check, Definition):
            raise EventError(
                f"{check!r} is no check", where="check", now="give a name, or a definition as Volume(min=1)"
            )
        need_sound(check)
        if params:
            raise EventError(
                f"a definition says all: {', '.join(params)} besides", where="assertion", now="put it there"
            )
        return _defined(pipeline, on, check, said)


def _entity(pipeline: Pipeline, ref: DatasetRef) -> Table:
    """Return the dataset; a dataJob's URN is let through, for freshness of its runs."""
    if isinstance(ref, str) and urns.type_if_urn(ref) == "dataJob":
        return Table(ref)
    return table(ref, pipeline.options)


def _named(pipeline: Pipeline, on: Table, kind: str, said: Checked, params: dict[str, Any]) -> Assertion:
    if urns.entity_type(on.urn) != "dataset":
        raise EventError(f"{on.urn} is no dataset", where="dataset", now="only Freshness is about jobs")
    params = {_LONG.get(key, key): plain(value) for key, value in params.items() if value is not None}
    column, content = params.pop("column", None), params.pop("logic", None)
    check = Check(
        kind, column=column, name=said.name, description=said.description, content=content, params=params, source=""
    )
    options, chosen = pipeline.options, pipeline.options.settings.assertions
    names = options.tables.assertions
    urn = _given(said.id) or assertion_urn(
        check, on.urn, said.platform, names, instance=said.instance, column_path=on.column, identity=chosen.identity
    )  # the one that OpenLineage's facets give the same check
    check, hidden = without_values(check, said.platform, names)
    info = assertion_info(
        check, on.urn,
        profile=options.profile, platform=said.platform, table=names, column_path=on.column, prefix=options.prefix,
        kind=chosen.type,
        label=_label(said.platform, options.settings.mappings),
        properties=_properties(said), external_url=_url(said),
    )  # fmt: skip
    lost = [f"parameters.{key}" for key in untold_parameters(check, said.platform, names, chosen.type)]
    lost += [f"properties.{key}" for key in _properties(said) if key not in info["customProperties"]]
    secret = [f"parameters.{leaf.removeprefix('params.')}" for leaf in hidden]
    return Assertion(pipeline, urn, on, check, info, said.platform, said.instance, lost, secret)


def _defined(pipeline: Pipeline, on: Table, check: Definition, said: Checked) -> Assertion:
    kind = urns.entity_type(on.urn)
    platform = urns.parse(on.urn)[1][0].rpartition(":")[2] if kind == "dataset" else ""
    body = check.info(
        Target(on.urn, on.column, platform), lambda path, what: pipeline.needs("assertionInfo", path, what)
    )
    key = {
        "platform": said.platform, "instance": said.instance, "dataset": on.urn, "type": body["type"], "d": said.name,
    }  # fmt: skip
    if said.name is None and pipeline.options.settings.assertions.identity == "full":
        key["d"] = text(body)
    elif said.name is None:  # checks of one kind, form and column are one
        form = (part["type"] for part in body.values() if isinstance(part, dict) and "type" in part)
        key |= {"form": next(form, None), "column": getattr(check, "column", None)}
    info: dict[str, Any] = {"customProperties": _properties(said)}
    if said.name is not None:
        info["customProperties"] = {pipeline.options.prefix + "name": capped(said.name), **info["customProperties"]}
    if said.url is not None:
        info["externalUrl"] = _url(said)
    column = getattr(check, "column", None)
    info |= redacted_json(_without_values(body) if column is not None and hides(column) else body)
    info["source"] = {"type": "EXTERNAL"}
    if said.description:
        info["description"] = capped(redacted(said.description), 65_536)
    urn = _given(said.id) or urns.assertion_urn(
        datahub_guid({name: one for name, one in key.items() if one is not None})
    )
    # its filter is part of what is checked, so that a result is one of those rows
    filtered = getattr(check, "filter", None)
    params = {"filter": filtered} if filtered is not None else {}
    told = Check(body["type"], column=column, params=params, source="")
    return Assertion(pipeline, urn, on, told, info, said.platform, said.instance)


def _without_values(body: dict[str, Any]) -> dict[str, Any]:
    """Return what is checked without the texts that may be values of a column with a telling name."""
    found = {key: _without_values(one) if isinstance(one, dict) else one for key, one in body.items()}
    if "parameters" in body and body["operator"] != "REGEX_MATCH":
        limits = body["parameters"].items()
        found["parameters"] = {
            name: one if one["type"] == "NUMBER" else {**one, "value": REDACTED} for name, one in limits
        }
    return found


def _given(identifier: str | None) -> str | None:
    if identifier is None or identifier.startswith("urn:li:assertion:"):
        return identifier
    return urns.assertion_urn(identifier)


def _properties(said: Checked) -> dict[str, str]:
    """Return the custom properties; ``suite_name`` is the key of DataHub's own Great Expectations action."""
    found = {"suite_name": said.suite, **said.properties}
    written = {key: kept_unmasked(key, plain(value)) for key, value in found.items()}
    return {key: value for key, value in written.items() if value is not None}


def _url(said: Checked) -> str | None:
    return redacted(said.url) if said.url is not None else None


@lru_cache
def _label(platform: str, overlay: Path | None) -> str:
    """Return what DataHub shows as the type of a platform's checks: ``dbt Test``."""
    labels = (row.assertion_label for _, row in rows(overlay) if row.platform == platform)
    return next((label for label in labels if label), f"{platform} check")
