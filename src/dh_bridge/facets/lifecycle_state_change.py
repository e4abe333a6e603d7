"""lifecycleStateChange (dataset): created, dropped, overwritten, renamed.

https://openlineage.io/docs/spec/facets/dataset-facets/lifecycle_state_change
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import (
    DATASET,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    LIFECYCLE,
    OPERATION,
    OPERATION_PROPERTIES,
    Facts,
)
from dh_bridge.model.precedence import OPERATION_LIFECYCLE
from dh_bridge.model.properties import present_property_text, truncate

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.naming import Name


class PreviousIdentifier(Facet):
    """The earlier name of a renamed dataset."""

    namespace: str = ""
    name: str = ""


class LifecycleStateChange(Facet):
    """The word (ALTER, CREATE, DROP, OVERWRITE, RENAME, TRUNCATE) and the earlier name."""

    lifecycleStateChange: str | None = None
    previousIdentifier: PreviousIdentifier | None = None


_PREVIOUS_NAME_TARGETS = as_property(DATASET_PROPERTIES, OPERATION_PROPERTIES)


@facet(
    "lifecycleStateChange",
    attach="dataset",
    struct=LifecycleStateChange,
    outcomes={
        "lifecycleStateChange": mapped(OPERATION, LIFECYCLE, EDGE_PROPERTIES),
        "previousIdentifier.namespace": _PREVIOUS_NAME_TARGETS,
        "previousIdentifier.name": _PREVIOUS_NAME_TARGETS,
    },
)
def lifecycle_state_change(facet: LifecycleStateChange, ctx: FacetContext) -> Facts:
    """Operation on the dataset, and a property of the job's edge. DROP soft-deletes the dataset. The earlier name of a renamed dataset is a property.

    For an input, only the property of the edge is written: Airflow's operators for S3, GCS and BigQuery report deleted objects as inputs.
    """
    state_change = truncate((facet.lifecycleStateChange or "").upper())
    previous = facet.previousIdentifier
    previous_name = (
        _name_property("previousIdentifier", previous.namespace, previous.name) if previous is not None else {}
    )
    if state_change:
        if ctx.task_urn:
            key = "input" if ctx.role == "input" else "output", ctx.dataset_urn, "lifecycleStateChange"
            yield ctx.task_urn, EDGE_PROPERTIES, key, {"lifecycleStateChange": state_change}
        if ctx.role != "input":
            yield ctx.dataset_urn, LIFECYCLE, state_change, None
            if ctx.run_urn:
                yield ctx.dataset_urn, OPERATION, OPERATION_LIFECYCLE, state_change
                yield (
                    ctx.dataset_urn,
                    OPERATION_PROPERTIES,
                    "lifecycleStateChange",
                    {"lifecycleStateChange": state_change, **previous_name},
                )
                if ctx.options.tables.operation_types.find_by_word(state_change) is None:
                    ctx.note_outcome("lifecycleStateChange", OPERATION_PROPERTIES, EDGE_PROPERTIES)
    if previous_name:
        yield property_fact(ctx, previous_name)
    if previous is not None and state_change == "RENAME" and ctx.role != "input":
        yield from _rename_facts(previous, ctx)


def _rename_facts(previous: PreviousIdentifier, ctx: FacetContext) -> Facts:
    """Yield that the dataset with the old name is removed, by ``lifecycle.soft_delete``, else its new name."""
    name = _resolve_previous_name(previous, ctx)
    if name.endpoint is None or name.endpoint == ctx.dataset_urn:
        return
    yield name.endpoint, DATASET, "", name
    ctx.note_dataset("lifecycleStateChange", name.endpoint)
    if "rename" in ctx.options.settings.lifecycle.soft_delete:
        yield name.endpoint, LIFECYCLE, "DROP", None
    elif ctx.name is not None:
        new_name = _name_property("renamedTo", ctx.name.safe_namespace, ctx.name.name)
        yield name.endpoint, DATASET_PROPERTIES, "renamedTo", new_name
        ctx.note_outcome("lifecycleStateChange", OPERATION, LIFECYCLE, EDGE_PROPERTIES, DATASET_PROPERTIES["renamedTo"])


def _resolve_previous_name(previous: PreviousIdentifier, ctx: FacetContext) -> Name:
    """Return the old name of the dataset: in its catalogue, if it is in one now and only the last part is new.

    Spark names two folders for a table of a metastore: /lake/shop.db/orders is shop.orders.
    """
    previous_name, current_name = ctx.dataset_name(previous.namespace, previous.name), ctx.name
    folder, slash, last_part = previous.name.rpartition("/")
    dataset = next(
        (entry_dataset for entry_dataset, _, _, path in ctx.entries if ctx.path.startswith(f"{path}.")), None
    )
    if (
        current_name is None
        or dataset is None
        or not last_part
        or current_name.system == previous_name.system
        or dataset.namespace != previous.namespace
    ):
        return previous_name
    schema, dot, table = current_name.name.rpartition(".")
    if dataset.name != f"{folder}{slash}{table}":
        return previous_name
    catalog_name = ctx.dataset_name(current_name.namespace, f"{schema}{dot}{last_part}")
    return catalog_name if catalog_name.system == current_name.system else previous_name


def _name_property(key: str, namespace: str, name: str) -> dict[str, str]:
    return {key: present_property_text(key, {"namespace": namespace, "name": name})}
