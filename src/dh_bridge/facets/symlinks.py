"""symlinks (dataset): its other names. https://openlineage.io/docs/spec/facets/dataset-facets/symlinks

Which identifier becomes the URN is decided before facets are read (``naming/datasets.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.envelope import DATASET_NAME_TARGETS
from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import DATASET, DATASET_PROPERTIES, SIBLING, Facts
from dh_bridge.model.properties import present_property_text
from dh_bridge.model.trace import FieldNote, FieldTargets

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.naming import Name
    from dh_bridge.naming.models import SymlinkPreference


class Identifier(Facet):
    """A name of the dataset, and what kind of thing it names."""

    namespace: str | None = None
    name: str | None = None
    type: str | None = None


class Symlinks(Facet):
    """The other names."""

    identifiers: list[Identifier] | None = None


_OUTCOME = DATASET_PROPERTIES["symlinks"]


@facet(
    "symlinks",
    attach="dataset",
    struct=Symlinks,
    outcomes={f"identifiers[].{field_name}": as_property() for field_name in ("namespace", "name", "type")},
)
def symlinks(facet: Symlinks, ctx: FacetContext) -> Facts:
    """All identifiers, as one property, without lineage edges. With ``optional_metadata: [siblings]``, a table and its files are siblings."""
    rows = [
        [identifier.type or "", identifier.namespace or "", identifier.name or ""]
        for identifier in facet.identifiers or ()
    ]
    if ctx.name is not None:
        if ctx.notes is not None:
            _note_own_name(facet, ctx.name, ctx.notes, ctx)
        # Where a catalogue's name became the URN, the dataset's own is one of the others.
        current_name = (ctx.name.namespace, ctx.name.name)
        rows += [["", *alias] for alias, name in ctx.aliases.items() if name is ctx.name and alias != current_name]
    if rows:
        yield property_fact(ctx, {"symlinks": present_property_text("symlinks", rows)})
    if "siblings" in ctx.options.settings.optional_metadata and ctx.name is not None:
        for _, namespace, name in rows:
            yield from _sibling_facts(ctx.name, ctx.resolve_name(namespace, name), ctx.options.naming.preference)


def _note_own_name(facet: Symlinks, name: Name, notes: list[tuple[str, FieldNote]], ctx: FacetContext) -> None:
    """Note for the report, where an identifier became the URN, that the dataset's own name is but one of the others."""
    entry_path = ctx.path.removesuffix(f".{ctx.facet_group}.{ctx.key}")
    own_dataset = next(
        dataset for dataset, entry_name, _, path in ctx.entries if path == entry_path and entry_name is name
    )
    if (own_dataset.namespace, own_dataset.name) == (name.namespace, name.name):
        return
    notes += [(f"{entry_path}.{field_name}", FieldTargets((_OUTCOME,))) for field_name in ("namespace", "name")]
    for position, identifier in enumerate(facet.identifiers or ()):
        if (identifier.namespace, identifier.name) == (name.namespace, name.name):
            ctx.note_outcome(f"identifiers[{position}]", _OUTCOME, *DATASET_NAME_TARGETS)


def _sibling_facts(dataset_name: Name, other_name: Name, preference: SymlinkPreference) -> Facts:
    """Yield that a table and its files are siblings; names of one system, or of one kind, are aliases."""
    table, files = (
        (dataset_name, other_name) if dataset_name.system in preference.preferred else (other_name, dataset_name)
    )
    if (
        table.system not in preference.preferred
        or files.system not in preference.over
        or table.platform == files.platform
    ):
        return
    if table.endpoint is None or files.endpoint is None:
        return
    yield other_name.endpoint or "", DATASET, "", other_name
    yield table.endpoint, SIBLING, files.endpoint, True
    yield files.endpoint, SIBLING, table.endpoint, False
