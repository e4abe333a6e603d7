"""subset (input, output): which part of a dataset a run read or wrote.

https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/subset_input_facet. Targets: a predicate on
the job's edge and on the run, the partitionSpec of profile, operation and results, the job's input fields.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.facet_support.facet_spec import Facet, FieldOutcome, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facet_support.repair import UNUSABLE, Repairs, repair
from dh_bridge.facet_support.subsets import Condition, ConditionRenderer, build_partition_spec, combine_predicates
from dh_bridge.model.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    INPUT_FIELD,
    PARTITION,
    RUN_BY_DATASET,
    Facts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.facet_support.context import FacetContext, Role
    from dh_bridge.model.trace import FieldTarget
    from dh_bridge.openlineage.events import Dataset


#: The condition that names a part of a dataset by itself, if all of a condition is a list of locations
_PARTITION_TARGETS: dict[str, tuple[FieldTarget, ...]] = {"input": (), "output": (PARTITION,)}


def _condition_outcomes(direction: str) -> dict[str, FieldOutcome]:
    """Return the rows of a condition on ``direction``: conditions nest, so a row is about the end of a path."""
    properties = (EDGE_PROPERTIES, RUN_BY_DATASET, DATASET_PROPERTIES)
    outcome, value_outcome, name = (
        as_property(*properties),
        as_property(*properties, allows_empty=True),
        f"{direction}Condition",
    )
    column_outcome = mapped(INPUT_FIELD, *properties, allows_empty=True) if direction == "input" else value_outcome
    outcomes_by_field = {
        "operator": outcome,
        "comparison": outcome,
        "locations[]": value_outcome,
        "field": column_outcome,
        "value": value_outcome,
        "type": dropped("duplicate-of:rendered predicate"),
    }
    return {
        f"{name}.**.dimensions.**": value_outcome,
        f"{name}.**.identifier": outcome,
        **{f"{name}.{field_name}": field_outcome for field_name, field_outcome in outcomes_by_field.items()},
        f"{name}.locations[]": as_property(*properties, *_PARTITION_TARGETS[direction], allows_empty=True),
        **{f"{name}.**.{field_name}": field_outcome for field_name, field_outcome in outcomes_by_field.items()},
        f"{name}.**": outcome,
    }


class Subset(Facet):
    """The condition of the side that the dataset is on."""

    inputCondition: Condition | None = None
    outputCondition: Condition | None = None


@facet(
    "subset",
    attach="dataset",
    struct=Subset,
    outcomes={**_condition_outcomes("input"), **_condition_outcomes("output")},
)
def subset(facet: Subset, ctx: FacetContext) -> Facts:
    """The predicate is a property of the job's edge and of the run. Profiles, operations and results get its partition. Its columns are input fields of the job."""
    name, condition = _own_condition(facet, ctx.role)
    if condition is None:
        return
    other_name = "outputCondition" if name == "inputCondition" else "inputCondition"
    if getattr(facet, other_name) is not None:
        ctx.note_dropped(other_name, "no-field:the condition of the other side")
    renderer = ConditionRenderer(ctx.options.settings.subset.literals)
    predicate = renderer.predicate(condition, name)
    for field_path, reason in renderer.notes:
        ctx.note_dropped(field_path, reason)
    if predicate is None:
        return
    entries, combined_predicate = _combined_predicates(ctx).get((ctx.role, ctx.dataset_urn), (1, predicate))
    entry_id = ctx.entry_id()
    if entry_id is not None:
        yield ctx.dataset_urn, PARTITION, entry_id, build_partition_spec(condition, predicate, entries)
    direction = "input" if ctx.role == "input" else "output"
    if not name.startswith(direction) and ctx.task_urn:  # the rows are about the side of the facet
        ctx.note_outcome(name, EDGE_PROPERTIES, RUN_BY_DATASET)
        for path in _type_paths(condition, name):
            ctx.note_dropped(path, "duplicate-of:rendered predicate")
    if ctx.task_urn:
        yield ctx.task_urn, EDGE_PROPERTIES, (direction, ctx.dataset_urn, "subset"), {"subset": combined_predicate}
    if ctx.run_urn:
        yield ctx.run_urn, RUN_BY_DATASET, (f"{direction}s.subset", ctx.dataset_urn), combined_predicate
    if not ctx.task_urn:
        yield property_fact(ctx, {"subset": predicate})
    elif ctx.role == "input":
        yield from _field_facts(renderer, ctx)


def _own_condition(facet: Subset, role: Role) -> tuple[str, Condition | None]:
    """Return the condition of the dataset's side, else the other one, which was sent in the wrong group."""
    names = ("outputCondition", "inputCondition") if role == "output" else ("inputCondition", "outputCondition")
    first, second = (getattr(facet, name) for name in names)
    return (names[0], first) if first is not None else (names[1], second)


def _type_paths(condition: Condition, path: str) -> Iterator[str]:
    yield f"{path}.type"
    for name, operand in (("left", condition.left), ("right", condition.right)):
        if operand is not None:
            yield from _type_paths(operand, f"{path}.{name}")


def _field_facts(renderer: ConditionRenderer, ctx: FacetContext) -> Facts:
    for _, field in renderer.fields:
        urn = schema_field_urn(ctx.dataset_urn, ctx.name.spell_column(field) if ctx.name is not None else field)
        if is_urn(urn):  # an over-long one would cost the job its lineage; the predicate has it all the same
            yield ctx.task_urn, INPUT_FIELD, urn, None


def _combined_predicates(ctx: FacetContext) -> dict[tuple[Role, str], tuple[int, str]]:
    """Return, of datasets that one side of the event names several times, how often, and all their predicates together."""
    if ctx.subsets is None:
        ctx.subsets = {}
        datasets_by_role: tuple[tuple[Role, list[Dataset]], ...] = (
            ("input", ctx.event.inputs),
            ("output", ctx.event.outputs),
        )
        for role, datasets in datasets_by_role:
            names = [ctx.aliases.get((dataset.namespace, dataset.name)) for dataset in datasets]
            urns = [name.endpoint if name is not None else None for name in names]
            predicates: dict[str, list[str]] = {}
            counts = Counter(urns)
            for urn, dataset in zip(urns, datasets, strict=True):
                if urn is not None and counts[urn] > 1:
                    predicates.setdefault(urn, []).append(_dataset_predicate(dataset, role, ctx))
            for urn, texts in predicates.items():
                ctx.subsets[role, urn] = (counts[urn], combine_predicates(text for text in texts if text))
    return ctx.subsets


def _dataset_predicate(dataset: Dataset, role: Role, ctx: FacetContext) -> str:
    facet_maps = (dataset.facets, dataset.input_facets, dataset.output_facets)
    raw = next((facets["subset"] for facets in facet_maps if "subset" in facets), None)
    if raw is None:
        return ""
    try:
        facet = repair(msgspec.json.decode(raw), Subset, Repairs())
    except (msgspec.DecodeError, RecursionError):
        return ""
    if facet is UNUSABLE:
        return ""
    name, condition = _own_condition(facet, role)
    renderer = ConditionRenderer(ctx.options.settings.subset.literals)
    return (renderer.predicate(condition, name) or "") if condition is not None else ""
