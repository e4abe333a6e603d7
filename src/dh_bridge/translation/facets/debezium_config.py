"""debezium_config (run): the configuration of a connector (Debezium; a list of ``k=v`` lines, in early releases a map)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.redaction import STRICT, names_only
from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import RUN_TYPE, Statements
from dh_bridge.translation.precedence import TYPE_RESTARTS
from dh_bridge.translation.properties import flattened, worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

#: The rest holds hosts, users and paths: it is counted.
_TELLING = frozenset((
    "connector.class", "name", "topic.prefix", "tasks.max", "snapshot.mode",
    "table.include.list", "schema.include.list", "database.include.list", "collection.include.list",
))  # fmt: skip


@facet(
    "debezium_config",
    at="run",
    leaves={"**": kept()},
    producer="Debezium",
)
def debezium_config(opened: Open, at: Place) -> Statements:
    """What tells the connector, its topics and tables as one redacted JSON; the other settings are only counted.

    A task that Debezium restarts after a failure says RUNNING once, and nothing more while its tables stay as they are.
    """
    yield at.run, RUN_TYPE, TYPE_RESTARTS, True
    body = dict(opened.body)
    configs = body.pop("configs", None)
    properties = flattened("debezium_config", body)
    told, count = _told(configs, at)
    if at.options.settings.redaction == STRICT:
        told = names_only(told)
    if told:
        properties["debezium_config"] = worded("debezium_config", told)
    if count:
        properties["debezium_config.count"] = str(count)
    if properties:
        yield property_statement(at, properties)


def _told(configs: Any, at: Place) -> tuple[dict[str, Any], int]:
    """Return the settings on the list, and how many there are."""
    if isinstance(configs, dict):
        lines = [(f"configs.{name}", name, value) for name, value in configs.items()]
    elif isinstance(configs, list):
        lines = []
        for position, line in enumerate(configs):
            name, _, value = line.partition("=") if isinstance(line, str) else ("", "", "")
            lines.append((f"configs[{position}]", name.strip(), value.strip()))
    else:
        if configs is not None:
            at.withheld("configs", "malformed")
        return {}, 0
    told = {}
    for leaf, name, value in lines:
        if name in _TELLING and isinstance(value, (str, int, float)):
            told[name] = value
            if value != "" and at.options.settings.redaction == STRICT:
                at.withheld(leaf, "policy:redaction")
        else:
            at.withheld(leaf, "policy:debezium_config")
    return told, len(lines)
