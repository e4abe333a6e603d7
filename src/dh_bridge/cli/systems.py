"""``dh-bridge systems``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import json_option, with_settings
from dh_bridge.cli.screen import json_line, write, write_table
from dh_bridge.translation.naming import Naming
from dh_bridge.translation.naming.reader import DATASET_LEVELS

if TYPE_CHECKING:
    from dh_bridge.settings import Settings
    from dh_bridge.translation.naming import System

COLUMNS = ("system", "platform", "namespace", "name")


@click.command()
@json_option
@with_settings
@examples("dh-bridge systems")
def systems(*, settings: Settings, as_json: bool) -> None:
    """List the systems whose dataset names the bridge knows."""
    rows = system_rows(settings)
    if as_json:
        write(map(json_line, rows))
    else:
        write_table(COLUMNS, [[row[column] for column in COLUMNS] for row in rows])


def system_rows(settings: Settings) -> list[dict[str, Any]]:
    """Return one row per naming system: its form of namespace and name (the spec's first), and what is known of it."""
    return [
        {
            "system": system.system,
            "id": system.id,
            "platform": system.platform or "(none)",
            "namespace": system.namespaces[0].pattern if system.namespaces else "",
            "name": _table_name(system),
            "levels": list(dict.fromkeys(name.level for name in system.names)),
            "fqn": system.fqn,
            "select": system.select,
            "verified": system.verified,
            "spec": system.spec,
        }
        for system in Naming(settings.naming, settings.mappings).systems()
    ]


def _table_name(system: System) -> str:
    """Return the system's pattern for the names of its tables, the spec's one first."""
    of_tables = [name for name in system.names if name.level in DATASET_LEVELS] or system.names
    return next((name.pattern for name in of_tables if name.form == "spec"), of_tables[0].pattern) if of_tables else ""
