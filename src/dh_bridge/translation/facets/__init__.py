"""The facets: one module each, the folder is the registry."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.translation.facet import FacetSpec

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.context import Attach


@lru_cache(maxsize=1)
def registry() -> dict[Attach, dict[str, FacetSpec]]:
    """Return every facet by attach point and key (aliases too); two modules may not claim one key."""
    found: dict[Attach, dict[str, FacetSpec]] = {"run": {}, "job": {}, "dataset": {}}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda entry: entry.name):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        for spec in members.values():
            if isinstance(spec, FacetSpec) and spec not in found[spec.at].values():
                for key in spec.keys:
                    claimed = found[spec.at].setdefault(key, spec)
                    assert claimed is spec, f"{key} is claimed twice"  # noqa: S101 - a slip of ours, caught by any test
    return found


def misplaced(attach: Attach, key: str, event: Event) -> FacetSpec | None:
    """Return the facet of the other bag of the two, where that bag has none itself.

    Producers put ``parent`` into the job and ``sql`` into the run; null in its own bag says nothing.
    """
    other: Attach = "job" if attach == "run" else "run"
    own = event.job_facets if attach == "run" else event.run_facets
    said = own.get(key)
    return registry()[other].get(key) if said is None or bytes(said) == b"null" else None


def specs() -> list[FacetSpec]:
    """Return each facet once, by attach point and first key: the rows of docs/facets.md."""
    rows = {id(spec): spec for keys in registry().values() for spec in keys.values()}
    return sorted(rows.values(), key=lambda spec: (spec.at, spec.keys))
