"""symlinks (dataset): its other names. https://openlineage.io/docs/spec/facets/dataset-facets/symlinks

Which identifier becomes the URN is decided before facets are read (``translation/naming/datasets.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.envelope import BY_NAME
from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import DATASET, DATASET_PROPERTIES, SIBLING, Statements
from dh_bridge.translation.properties import worded
from dh_bridge.translation.trace import Note, Reached

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.naming.preference import Preference


class Identifier(Facet):
    """A name of the dataset, and what kind of thing it names."""

    namespace: str | None = None
    name: str | None = None
    type: str | None = None


class Symlinks(Facet):
    """The other names."""

    identifiers: list[Identifier] | None = None


_PROPERTY = DATASET_PROPERTIES["symlinks"]


@facet(
    "symlinks",
    at="dataset",
    reads=Symlinks,
    leaves={f"identifiers[].{leaf}": kept() for leaf in ("namespace", "name", "type")},
)
def symlinks(facet: Symlinks, at: Place) -> Statements:
    """All identifiers as one property, never a lineage edge; a table and its files are siblings by ``symlinks.siblings``."""
    rows = [[one.type or "", one.namespace or "", one.name or ""] for one in facet.identifiers or ()]
    if at.name is not None:
        if at.notes is not None:
            _note(facet, at.name, at.notes, at)
        # Where a catalogue's name became the URN, the dataset's own is one of the others.
        said = (at.name.namespace, at.name.name)
        rows += [["", *pair] for pair, name in at.aliases.items() if name is at.name and pair != said]
    if rows:
        yield property_statement(at, {"symlinks": worded("symlinks", rows)})
    if at.options.settings.symlinks.siblings and at.name is not None:
        for _, namespace, name in rows:
            yield from _sibling(at.name, at.resolve(namespace, name), at.options.naming.preference)


def _note(facet: Symlinks, name: Name, notes: list[tuple[str, Note]], at: Place) -> None:
    """Note for the report, where an identifier became the URN, that the dataset's own name is but one of the others."""
    entry = at.where.removesuffix(f".{at.bag}.{at.key}")
    own = next(dataset for dataset, found, _, where in at.entries if where == entry and found is name)
    if (own.namespace, own.name) == (name.namespace, name.name):
        return
    notes += [(f"{entry}.{leaf}", Reached((_PROPERTY,))) for leaf in ("namespace", "name")]
    for position, one in enumerate(facet.identifiers or ()):
        if (one.namespace, one.name) == (name.namespace, name.name):
            at.reached(f"identifiers[{position}]", _PROPERTY, *BY_NAME)


def _sibling(one: Name, other: Name, rows: Preference) -> Statements:
    """Yield that a table and its files are siblings; names of one system, or of one kind, are aliases."""
    table, files = (one, other) if one.system in rows.preferred else (other, one)
    if table.system not in rows.preferred or files.system not in rows.over or table.platform == files.platform:
        return
    if table.endpoint is None or files.endpoint is None:
        return
    yield other.endpoint or "", DATASET, "", other
    yield table.endpoint, SIBLING, files.endpoint, True
    yield files.endpoint, SIBLING, table.endpoint, False
