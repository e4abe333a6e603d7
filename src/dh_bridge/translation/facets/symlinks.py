"""symlinks (dataset): its other names. https://openlineage.io/docs/spec/facets/dataset-facets/symlinks

Which identifier becomes the URN is decided before facets are read (``translation/datasets.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.properties import kept as kept_text

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place
    from dh_bridge.translation.slots import Statements


class Identifier(Facet):
    """A name of the dataset, and what kind of thing it names."""

    namespace: str | None = None
    name: str | None = None
    type: str | None = None


class Symlinks(Facet):
    """The other names."""

    identifiers: list[Identifier] | None = None


_PROPERTY = mapped("datasetProperties.customProperties")


@facet(
    "symlinks",
    at="dataset",
    reads=Symlinks,
    leaves={f"identifiers[].{leaf}": _PROPERTY for leaf in ("namespace", "name", "type")},
)
def symlinks(facet: Symlinks, at: Place) -> Statements:
    """All identifiers as one property; never a lineage edge."""
    rows = [[one.type or "", one.namespace or "", one.name or ""] for one in facet.identifiers or ()]
    if at.name is not None:
        # Where a catalogue's name became the URN, the dataset's own is one of the others (facets.md 1.1/34).
        said = (at.name.namespace, at.name.name)
        rows += [["", *pair] for pair, name in at.aliases.items() if name is at.name and pair != said]
    if rows:
        yield property_statement(at, {"symlinks": kept_text("symlinks", rows) or ""})
