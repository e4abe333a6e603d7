"""Adds missing databases and schemas from the user's rules: ``public.orders`` on a server whose database a rule sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.naming.name import FIRST_TIER, SECOND_TIER
from dh_bridge.naming.reader import DATASET_LEVELS, ParsedName

if TYPE_CHECKING:
    from dh_bridge.settings.naming import NamingRule


def _defaults(rule: NamingRule) -> dict[str, str]:
    defaults: dict[str, str] = {}
    if rule.default_database is not None:
        defaults |= dict.fromkeys(FIRST_TIER, rule.default_database)
    if rule.default_schema is not None:
        defaults |= dict.fromkeys(SECOND_TIER, rule.default_schema)
    return defaults


def complete_name(parsed_name: ParsedName, rule: NamingRule) -> ParsedName:
    """Return ``parsed_name`` with the rule's default database and schema, if the name has none.

    A name without its upper levels is completed from its end: ``public.orders`` on a server whose database is known. A name
    without a middle level is completed too: ``shop.orders`` of Spark, which reads a table in the default schema of the server.
    """
    defaults = _defaults(rule)
    tier_names = [part.name for part in parsed_name.reader.template.tiers]
    tiers = {name for row in parsed_name.reader.name_rows for name in row.names}
    missing_values = {
        name: value for name, value in defaults.items() if name in tiers and name not in parsed_name.values
    }
    if parsed_name.level in DATASET_LEVELS:
        values = {**missing_values, **parsed_name.values}
        return parsed_name._replace(values=values, missing=not parsed_name.needs <= values.keys())
    name_parts = [part for part in parsed_name.parts if part is not None]
    namespace_values = {name: value for name, value in parsed_name.values.items() if name not in tiers}
    if len(undefaulted_names := [name for name in tier_names if name not in defaults]) == len(name_parts):
        tier_names = undefaulted_names
    tier_values = (
        dict(zip(tier_names[len(tier_names) - len(name_parts) :], name_parts, strict=True))
        if 0 < len(name_parts) <= len(tier_names)
        else {}
    )
    values = {**{name: value for name, value in defaults.items() if name in tiers}, **namespace_values, **tier_values}
    if not tier_values or not parsed_name.needs <= values.keys():
        return parsed_name
    return parsed_name._replace(level="table", values=values, missing=False)
