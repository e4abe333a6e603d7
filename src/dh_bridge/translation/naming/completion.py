"""Missing databases and schemas, from the user's rules: ``public.orders`` on a server whose database a rule knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.naming.reader import DATASET_LEVELS, Reading
from dh_bridge.translation.naming.rules import FIRST_TIER, SECOND_TIER

if TYPE_CHECKING:
    from dh_bridge.settings.naming import NamingRule


def _defaults(rule: NamingRule) -> dict[str, str]:
    found: dict[str, str] = {}
    if rule.default_database is not None:
        found |= dict.fromkeys(FIRST_TIER, rule.default_database)
    if rule.default_schema is not None:
        found |= dict.fromkeys(SECOND_TIER, rule.default_schema)
    return found


def complete(reading: Reading, rule: NamingRule) -> Reading:
    """Return ``reading`` with the rule's default database and schema, where the name has none.

    A name that stops short of a table is read from its end, ``public.orders`` on a server whose database is known; or past
    the one part that is, ``shop.orders`` of Spark, which reads a table of the schema that the server looks in.
    """
    defaults = _defaults(rule)
    names = [part.name for part in reading.reader.template.tiers]
    tiers = {name for entry in reading.reader.entries for name in entry.names}
    fill = {name: value for name, value in defaults.items() if name in tiers and name not in reading.values}
    if reading.level in DATASET_LEVELS:
        values = {**fill, **reading.values}
        return reading._replace(values=values, missing=not reading.needs <= values.keys())
    said = [part for part in reading.parts if part is not None]
    given = {name: value for name, value in reading.values.items() if name not in tiers}
    if len(past := [name for name in names if name not in defaults]) == len(said):
        names = past
    last = dict(zip(names[len(names) - len(said) :], said, strict=True)) if 0 < len(said) <= len(names) else {}
    values = {**{name: value for name, value in defaults.items() if name in tiers}, **given, **last}
    if not last or not reading.needs <= values.keys():
        return reading
    return reading._replace(level="table", values=values, missing=False)
