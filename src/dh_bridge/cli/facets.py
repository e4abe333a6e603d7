"""``dh-bridge facets``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import json_option, with_settings
from dh_bridge.cli.screen import json_line, write, write_table
from dh_bridge.translation.facet import PROPERTY_ASPECTS
from dh_bridge.translation.facets import specs

if TYPE_CHECKING:
    from dh_bridge.settings import Settings
    from dh_bridge.translation.facet import FacetSpec


@click.command()
@json_option
@with_settings
@examples("dh-bridge facets")
def facets(*, settings: Settings, as_json: bool) -> None:  # noqa: ARG001 - every command takes -c
    """List the facets that the bridge reads, and where their leaves go."""
    rows = facet_rows()
    if as_json:
        write(map(json_line, rows))
    else:
        write_table(
            ("facet", "at", "since", "targets"),
            [(row["facet"], row["at"], row["since"], ", ".join(row["targets"])) for row in rows],
        )


def facet_rows() -> list[dict[str, Any]]:
    """Return one row per facet and attach point: keys, aspects, what becomes of each leaf, since which DataHub, what it is."""
    return [
        {
            "facet": spec.keys[0],
            "aliases": list(spec.keys[1:]),
            "at": spec.at,
            "targets": _targets(spec),
            "leaves": {path: leaf.row() for path, leaf in spec.leaves.items()},
            "since": spec.since,
            "producer": spec.producer,
            "what": spec.doc,
        }
        for spec in specs()
    ]


def _targets(spec: FacetSpec) -> list[str]:
    """Return the aspects that the facet's leaves reach, in the order of its rows; properties have no row of their own."""
    found: dict[str, None] = {}
    for leaf in spec.leaves.values():
        if leaf.verdict != "withheld":
            named = leaf.targets or tuple(f"{aspect}.customProperties" for aspect in PROPERTY_ASPECTS[spec.at])
            found.update(dict.fromkeys(target.split(".")[0] for target in named))
    return list(found)
