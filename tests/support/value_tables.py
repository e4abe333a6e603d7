"""The tables of mappings/tables: as they stand in their files, and ready for look-ups."""

from __future__ import annotations

from dh_bridge.bundled import MAPPINGS, load_yaml
from dh_bridge.settings import Settings
from dh_bridge.value_maps import ValueMaps

TABLES = ValueMaps(Settings())


def document(name):
    return load_yaml((MAPPINGS / "tables" / f"{name}.yaml").read_text(encoding="utf-8"), name)
