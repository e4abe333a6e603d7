"""debezium_config (run): the configuration of a connector (Debezium; a list of ``k=v`` lines, in early releases a map)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.model.facts import RUN_TYPE, Facts
from dh_bridge.model.precedence import TYPE_RESTARTS
from dh_bridge.model.properties import flatten, present_property_text
from dh_bridge.redaction import STRICT, mask_values

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

#: The rest holds hosts, users and paths: it is counted.
_ALLOWED_SETTINGS = frozenset((
    "connector.class", "name", "topic.prefix", "tasks.max", "snapshot.mode",
    "table.include.list", "schema.include.list", "database.include.list", "collection.include.list",
))  # fmt: skip


@facet(
    "debezium_config",
    attach="run",
    outcomes={"**": as_property()},
    producer="Debezium",
)
def debezium_config(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Settings, topics and tables of the connector, as one redacted JSON property. Settings that are not on the bridge's list are only counted.

    If Debezium restarts a task after a failure, it sends RUNNING once, and nothing more until its tables change.
    """
    yield ctx.run_urn, RUN_TYPE, TYPE_RESTARTS, True
    content = dict(facet.content)
    configs = content.pop("configs", None)
    properties = flatten("debezium_config", content)
    settings, count = _allowed_settings(configs, ctx)
    if ctx.options.settings.redaction == STRICT:
        settings = mask_values(settings)
    if settings:
        properties["debezium_config"] = present_property_text("debezium_config", settings)
    if count:
        properties["debezium_config.count"] = str(count)
    if properties:
        yield property_fact(ctx, properties)


def _allowed_settings(configs: Any, ctx: FacetContext) -> tuple[dict[str, Any], int]:
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
            ctx.note_dropped("configs", "malformed")
        return {}, 0
    settings = {}
    for path, name, value in lines:
        if name in _ALLOWED_SETTINGS and isinstance(value, (str, int, float)):
            settings[name] = value
            if value != "" and ctx.options.settings.redaction == STRICT:
                ctx.note_dropped(path, "policy:redaction")
        else:
            ctx.note_dropped(path, "policy:debezium_config")
    return settings, len(lines)
