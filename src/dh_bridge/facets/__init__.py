"""The facets. The folder is the registry: each module declares the facets of one producer, or of one subject of the specification."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import FacetSpec

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import AttachPoint
    from dh_bridge.openlineage.events import Event


@lru_cache(maxsize=1)
def registry() -> dict[AttachPoint, dict[str, FacetSpec]]:
    """Return every facet by attach point and key (aliases too); two modules may not claim one key."""
    specs_by_key: dict[AttachPoint, dict[str, FacetSpec]] = {"run": {}, "job": {}, "dataset": {}}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module_info: module_info.name):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        for spec in members.values():
            if isinstance(spec, FacetSpec) and spec not in specs_by_key[spec.attach].values():
                for key in spec.keys:
                    claimant = specs_by_key[spec.attach].setdefault(key, spec)
                    assert claimant is spec, f"{key} is claimed twice"  # noqa: S101 - a slip of ours, caught by any test
    return specs_by_key


def find_misplaced_facet(attach: AttachPoint, key: str, event: Event) -> FacetSpec | None:
    """Return the facet from the other group (run or job) if its own group does not have it.

    Some producers put ``parent`` into the job and ``sql`` into the run; null in its own group counts as absent.
    """
    other_attach: AttachPoint = "job" if attach == "run" else "run"
    own_facets = event.job_facets if attach == "run" else event.run_facets
    raw = own_facets.get(key)
    return registry()[other_attach].get(key) if raw is None or bytes(raw) == b"null" else None


def specs() -> list[FacetSpec]:
    """Return each facet once, by attach point and first key: the rows of docs/facets.md."""
    specs_by_id = {id(spec): spec for keys in registry().values() for spec in keys.values()}
    return sorted(specs_by_id.values(), key=lambda spec: (spec.attach, spec.keys))
