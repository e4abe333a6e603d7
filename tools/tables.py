"""docs/systems.md and docs/facets.md: from mappings/naming/ and the facet modules."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import PROPERTY_KINDS
from dh_bridge.facets import specs
from dh_bridge.naming import Naming
from dh_bridge.naming.reader import DATASET_LEVELS
from dh_bridge.render.targets import documented_paths, is_property
from dh_bridge.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dh_bridge.facet_support.facet_spec import FacetSpec, FieldOutcome
    from dh_bridge.naming import System

    Table = Callable[[Iterable[str], Iterable[Iterable[Any]]], str]


def systems_page(table: Table, note: str) -> str:
    """Return docs/systems.md: each naming system with its patterns, levels, opt-in and the state of verification."""
    rows = [
        (
            one.system,
            _code(one.id),
            _platform(one),
            _code(_namespace(one)),
            _code(_table_name(one)),
            ", ".join(dict.fromkeys(name.level for name in one.names)),
            _code(one.select),
            one.verified,
            f"[page]({one.spec})" if one.spec else "",
        )
        for one in _systems()
    ]
    columns = (
        "system",
        "id",
        "platform",
        "namespace",
        "name of a table",
        "levels",
        "opt-in",
        "verified",
        "specification",
    )
    return f"# Systems\n\n{note}\n\n{_SYSTEMS_HEAD}{table(columns, rows)}"


def _summary(table: Table) -> str:
    """Return a row for each facet."""
    rows = [(f"`{one.keys[0]}`", one.attach, ", ".join(_targets(one)), _first_sentence(one)) for one in specs()]
    return table(("facet", "of a", "aspects", "content"), rows)


def facets_page(table: Table, note: str) -> str:
    """Return docs/facets.md: each facet with its fields and the outcome of each field."""
    parts = [f"# Facets\n\n{note}\n\n{_FACETS_HEAD}{_summary(table)}\n"]
    for at, group in groupby(specs(), key=lambda one: one.attach):
        parts.append(f"## Of a {at}\n\n")
        for one in group:
            also = "".join(f", also `{key}`" for key in one.keys[1:])
            producer = f" ({one.producer})" if one.producer else ""
            parts.append(f"### `{one.keys[0]}`{also}{producer}\n\n{_first_sentence(one)}\n\n")
            rows = [(f"`{path}`", *_outcome(row, one)) for path, row in one.outcomes.items()]
            parts.append(table(("field", "outcome", "aspect and path, or reason"), rows) + "\n")
    return "".join(parts).rstrip() + "\n"


_SYSTEMS_HEAD = """Datasets of these systems get the URNs that DataHub's own connectors write. Each row is a file in `mappings/naming/`. A
file in your own folder (setting `mappings`) adds or replaces a system. `dh-bridge urn NAMESPACE NAME` shows the URN of a dataset and its
rule.

- *name of a table*: `{part}` is one part, `{*rest}` is the rest of the name.
- *opt-in*: the system is used only if a rule selects it (`naming.rules[].select`).
- *verified*: how the names were compared with DataHub's connector. Its naming code was executed (`ran`), it was read (`read`), or DataHub has
  no connector (`none`).

"""

_FACETS_HEAD = """This page lists the facets that dh_bridge reads, and the outcome of each field: `mapped` to a field of DataHub, stored as a
custom `property`, or `dropped` for a reason. `**` means all other fields. A facet that is not listed is stored as a property as a whole.

"""


def _systems() -> list[System]:
    return list(Naming(Settings().naming, None).systems())


def _platform(system: System) -> str:
    return system.platform or "(none)"


def _namespace(system: System) -> str:
    """Return the first pattern of the system's namespaces: that of the specification."""
    return system.namespaces[0].pattern if system.namespaces else ""


def _table_name(system: System) -> str:
    """Return the system's pattern for the names of its tables: that of the specification if it has one."""
    of_tables = [name for name in system.names if name.level in DATASET_LEVELS] or system.names
    return next((name.pattern for name in of_tables if name.form == "spec"), of_tables[0].pattern) if of_tables else ""


def _targets(spec: FacetSpec) -> list[str]:
    """Return the aspects that the facet's fields reach, in the order of its rows."""
    aspects: dict[str, None] = {}
    for row in spec.outcomes.values():
        if not row.reason:
            aspects.update(dict.fromkeys(target.split(".")[0] for target in target_paths(row, spec)))
    return list(aspects)


def target_paths(row: FieldOutcome, spec: FacetSpec) -> list[str]:
    """Return where the fields of a row may go; without targets they are properties of what the facet is attached to."""
    targets = row.targets or (PROPERTY_KINDS[spec.attach],)
    return list(dict.fromkeys(path for target in targets for path in documented_paths(target)))


def _outcome(row: FieldOutcome, spec: FacetSpec) -> tuple[str, str]:
    if row.reason:
        return "dropped", row.reason
    paths = target_paths(row, spec)
    return "property" if is_property(paths[0]) else "mapped", ", ".join(f"`{path}`" for path in paths)


def _first_sentence(spec: FacetSpec) -> str:
    return spec.doc.split("\n\n", maxsplit=1)[0].replace("\n", " ")


def _code(text: Any) -> str:
    return f"`{text}`" if text else ""
