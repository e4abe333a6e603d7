"""subset (input, output): which part of a dataset a run read or wrote.

https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/subset_input_facet. Targets: a predicate on
the job's edge and on the run, the partitionSpec of profile, operation and results, the job's input fields.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.translation.facet import Facet, Row, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    INPUT_FIELD,
    PARTITION,
    RUN_BY_DATASET,
    Statements,
)
from dh_bridge.translation.reading.subsets import Condition, Rendering, part, together
from dh_bridge.translation.repair import UNUSABLE, Mending, mended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.openlineage.events import Dataset
    from dh_bridge.translation.context import Place, Role
    from dh_bridge.translation.trace import Destination


#: What tells of the part of a dataset by itself, where all of a condition is a list of locations
_WHOLE: dict[str, tuple[Destination, ...]] = {"input": (), "output": (PARTITION,)}


def _rows(side: str) -> dict[str, Row]:
    """Return the rows of a condition on ``side``: conditions nest, so a row is about the end of a path."""
    properties = (EDGE_PROPERTIES, RUN_BY_DATASET, DATASET_PROPERTIES)
    row, said, name = kept(*properties), kept(*properties, empty=True), f"{side}Condition"
    fields = mapped(INPUT_FIELD, *properties, empty=True) if side == "input" else said
    ends = {
        "operator": row,
        "comparison": row,
        "locations[]": said,
        "field": fields,
        "value": said,
        "type": withheld("duplicate-of:rendered predicate"),
    }
    return {
        f"{name}.**.dimensions.**": said,
        f"{name}.**.identifier": row,
        **{f"{name}.{end}": found for end, found in ends.items()},
        f"{name}.locations[]": kept(*properties, *_WHOLE[side], empty=True),
        **{f"{name}.**.{end}": found for end, found in ends.items()},
        f"{name}.**": row,
    }


class Subset(Facet):
    """The condition of the side that the dataset is on."""

    inputCondition: Condition | None = None
    outputCondition: Condition | None = None


@facet(
    "subset",
    at="dataset",
    reads=Subset,
    leaves={**_rows("input"), **_rows("output")},
)
def subset(facet: Subset, at: Place) -> Statements:
    """A predicate on the edge and the run, partitionSpec of profile, operation and results; columns read as input fields."""
    name, condition = _own(facet, at.role)
    if condition is None:
        return
    other = "outputCondition" if name == "inputCondition" else "inputCondition"
    if getattr(facet, other) is not None:
        at.withheld(other, "no-home:the condition of the other side")
    rendering = Rendering(at.options.settings.subset.literals)
    predicate = rendering.predicate(condition, name)
    for leaf, reason in rendering.notes:
        at.withheld(leaf, reason)
    if predicate is None:
        return
    entries, all_of_it = _together(at).get((at.role, at.dataset), (1, predicate))
    mark = at.entry()
    if mark is not None:
        yield at.dataset, PARTITION, mark, part(condition, predicate, entries)
    direction = "input" if at.role == "input" else "output"
    if not name.startswith(direction) and at.task:  # the rows tell of the side that it was made for
        at.reached(name, EDGE_PROPERTIES, RUN_BY_DATASET)
        for path in _types(condition, name):
            at.withheld(path, "duplicate-of:rendered predicate")
    if at.task:
        yield at.task, EDGE_PROPERTIES, (direction, at.dataset, "subset"), {"subset": all_of_it}
    if at.run:
        yield at.run, RUN_BY_DATASET, (f"{direction}s.subset", at.dataset), all_of_it
    if not at.task:
        yield property_statement(at, {"subset": predicate})
    elif at.role == "input":
        yield from _fields(rendering, at)


def _own(facet: Subset, role: Role) -> tuple[str, Condition | None]:
    """Return the condition of the dataset's side, else the other one, which was put into the wrong bag."""
    names = ("outputCondition", "inputCondition") if role == "output" else ("inputCondition", "outputCondition")
    first, second = (getattr(facet, name) for name in names)
    return (names[0], first) if first is not None else (names[1], second)


def _types(condition: Condition, path: str) -> Iterator[str]:
    yield f"{path}.type"
    for name, side in (("left", condition.left), ("right", condition.right)):
        if side is not None:
            yield from _types(side, f"{path}.{name}")


def _fields(rendering: Rendering, at: Place) -> Statements:
    for _, field in rendering.fields:
        urn = schema_field_urn(at.dataset, at.name.column(field) if at.name is not None else field)
        if is_urn(urn):  # an over-long one would cost the job its lineage; the predicate has it all the same
            yield at.task, INPUT_FIELD, urn, None


def _together(at: Place) -> dict[tuple[Role, str], tuple[int, str]]:
    """Return, of datasets that one side of the event names several times, how often, and all their predicates together."""
    if at.subsets is None:
        at.subsets = {}
        sides: tuple[tuple[Role, list[Dataset]], ...] = (("input", at.event.inputs), ("output", at.event.outputs))
        for role, datasets in sides:
            names = [at.aliases.get((dataset.namespace, dataset.name)) for dataset in datasets]
            urns = [name.endpoint if name is not None else None for name in names]
            predicates: dict[str, list[str]] = {}
            times = Counter(urns)
            for urn, dataset in zip(urns, datasets, strict=True):
                if urn is not None and times[urn] > 1:
                    predicates.setdefault(urn, []).append(_predicate(dataset, role, at))
            for urn, found in predicates.items():
                at.subsets[role, urn] = (times[urn], together(text for text in found if text))
    return at.subsets


def _predicate(dataset: Dataset, role: Role, at: Place) -> str:
    bags = (dataset.facets, dataset.input_facets, dataset.output_facets)
    raw = next((bag["subset"] for bag in bags if "subset" in bag), None)
    if raw is None:
        return ""
    try:
        found = mended(msgspec.json.decode(raw), Subset, Mending())
    except (msgspec.DecodeError, RecursionError):
        return ""
    if found is UNUSABLE:
        return ""
    name, condition = _own(found, role)
    rendering = Rendering(at.options.settings.subset.literals)
    return (rendering.predicate(condition, name) or "") if condition is not None else ""
