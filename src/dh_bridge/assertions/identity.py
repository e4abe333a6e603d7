"""Assertion URNs: the same check has the same URN in every run, job and mode."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.assertions.check import Check, meaningful_value
from dh_bridge.assertions.reading import ParsedCheck, parse_check
from dh_bridge.datahub import urns
from dh_bridge.datahub.urns import datahub_guid
from dh_bridge.model.properties import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.assertions.table import AssertionTable

AssertionIdentity = Literal["full", "name_only"]


def assertion_urn(  # noqa: PLR0913 - the parts of the identity
    check: Check,
    dataset_urn: str,
    platform: str,
    table: AssertionTable,
    *,
    instance: str | None = None,
    column_path: Callable[[str], str] | None = None,
    identity: AssertionIdentity = "full",
    ordinal: int = 1,
) -> str:
    """Return the URN of ``check`` on a dataset, reported by ``platform`` (an id: ``dbt``) and its ``instance``.

    ``column_path`` returns the dotted path of a column's field. ``identity: name_only`` leaves parameters and content
    out. ``ordinal`` is 2 for the second of two equal checks in one list.
    """
    parsed_check = parse_check(check, platform, table)
    discriminator = _discriminator(check, parsed_check, table, identity)
    if ordinal > 1:
        discriminator = f"{discriminator or ''}#{ordinal}"
    column = parsed_check.columns[0] if parsed_check.columns else None
    key: dict[str, Any] = {
        "platform": platform,
        "instance": instance,
        "dataset": dataset_urn,
        "type": parsed_check.kind,
        "column": column_path(column) if column is not None and column_path is not None else column,
        "d": discriminator,
    }
    return urns.assertion_urn(datahub_guid({name: value for name, value in key.items() if value is not None}))


def assertion_urns(  # noqa: PLR0913 - as assertion_urn
    checks: list[Check],
    dataset_urn: str,
    platform: str,
    table: AssertionTable,
    *,
    column_path: Callable[[str], str] | None = None,
    identity: AssertionIdentity = "full",
) -> list[str]:
    """Return the URNs of one list of checks of one dataset; the second of two equal checks gets ``#2``, and so on."""
    check_urns: list[str] = []
    counts: dict[str, int] = {}
    for check in checks:
        urn = assertion_urn(check, dataset_urn, platform, table, column_path=column_path, identity=identity)
        ordinal = counts[urn] = counts.get(urn, 0) + 1
        if ordinal > 1:
            urn = assertion_urn(
                check, dataset_urn, platform, table, column_path=column_path, identity=identity, ordinal=ordinal
            )  # fmt: skip
        check_urns.append(urn)
    return check_urns


def _discriminator(
    check: Check, parsed_check: ParsedCheck, table: AssertionTable, identity: AssertionIdentity
) -> str | None:
    if parsed_check.is_unique:
        return None
    name = meaningful_value(check.name)
    if name is not None and name not in (check.assertion, parsed_check.native):
        return str(name)
    if identity == "name_only":
        return None
    params = {
        key: value
        for key, value in check.params.items()
        if key not in table.non_identity_parameters and meaningful_value(value) is not None
    }
    if params:
        return json_text(params)
    content = meaningful_value(check.content)
    return hashlib.sha256(" ".join(content.split()).encode("utf-8", "surrogatepass")).hexdigest() if content else None
