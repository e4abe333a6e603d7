"""lifecycleStateChange (dataset): created, dropped, overwritten, renamed.

https://openlineage.io/docs/spec/facets/dataset-facets/lifecycle_state_change
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import (
    DATASET,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    LIFECYCLE,
    OPERATION,
    OPERATION_PROPERTIES,
    Statements,
)
from dh_bridge.translation.precedence import OPERATION_LIFECYCLE
from dh_bridge.translation.properties import capped, worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.naming import Name


class PreviousIdentifier(Facet):
    """What a renamed dataset was called."""

    namespace: str = ""
    name: str = ""


class LifecycleStateChange(Facet):
    """The word (ALTER, CREATE, DROP, OVERWRITE, RENAME, TRUNCATE) and the earlier name."""

    lifecycleStateChange: str | None = None
    previousIdentifier: PreviousIdentifier | None = None


_EARLIER = kept(DATASET_PROPERTIES, OPERATION_PROPERTIES)


@facet(
    "lifecycleStateChange",
    at="dataset",
    reads=LifecycleStateChange,
    leaves={
        "lifecycleStateChange": mapped(OPERATION, LIFECYCLE, EDGE_PROPERTIES),
        "previousIdentifier.namespace": _EARLIER,
        "previousIdentifier.name": _EARLIER,
    },
)
def lifecycle_state_change(facet: LifecycleStateChange, at: Place) -> Statements:
    """Operation of the run, mark on the edge; DROP removes the dataset; the earlier name is kept.

    Of an input there is the mark alone: that is where Airflow's operators for S3, GCS and BigQuery tell what they delete.
    """
    word = capped((facet.lifecycleStateChange or "").upper())
    previous = facet.previousIdentifier
    earlier = _named("previousIdentifier", previous.namespace, previous.name) if previous is not None else {}
    if word:
        if at.task:
            key = "input" if at.role == "input" else "output", at.dataset, "lifecycleStateChange"
            yield at.task, EDGE_PROPERTIES, key, {"lifecycleStateChange": word}
        if at.role != "input":
            yield at.dataset, LIFECYCLE, word, None
            if at.run:
                yield at.dataset, OPERATION, OPERATION_LIFECYCLE, word
                yield (
                    at.dataset,
                    OPERATION_PROPERTIES,
                    "lifecycleStateChange",
                    {"lifecycleStateChange": word, **earlier},
                )
                if at.options.tables.operation_types.of_word(word) is None:
                    at.reached("lifecycleStateChange", OPERATION_PROPERTIES, EDGE_PROPERTIES)
    if earlier:
        yield property_statement(at, earlier)
    if previous is not None and word == "RENAME" and at.role != "input":
        yield from _removed(previous, at)


def _removed(previous: PreviousIdentifier, at: Place) -> Statements:
    """Yield that the dataset of the earlier name is gone, by ``lifecycle.rename_removes``, else what it is called now."""
    name = _name(previous, at)
    if name.endpoint is None or name.endpoint == at.dataset:
        return
    yield name.endpoint, DATASET, "", name
    at.about("lifecycleStateChange", name.endpoint)
    if at.options.settings.lifecycle.rename_removes:
        yield name.endpoint, LIFECYCLE, "DROP", None
    elif at.name is not None:
        now = _named("renamedTo", at.name.safe_namespace, at.name.name)
        yield name.endpoint, DATASET_PROPERTIES, "renamedTo", now
        at.reached("lifecycleStateChange", OPERATION, LIFECYCLE, EDGE_PROPERTIES, DATASET_PROPERTIES["renamedTo"])


def _name(previous: PreviousIdentifier, at: Place) -> Name:
    """Return the name that the dataset had: that of its catalogue, as it has one now, where only the last part is new.

    Spark tells two folders, of a table that goes by its name in a metastore: /lake/shop.db/orders is shop.orders.
    """
    found, own = at.endpoint(previous.namespace, previous.name), at.name
    folder, slash, before = previous.name.rpartition("/")
    now = next((of for of, _, _, where in at.entries if at.where.startswith(f"{where}.")), None)
    if own is None or now is None or not before or own.system == found.system or now.namespace != previous.namespace:
        return found
    schema, dot, table = own.name.rpartition(".")
    if now.name != f"{folder}{slash}{table}":
        return found
    known = at.endpoint(own.namespace, f"{schema}{dot}{before}")
    return known if known.system == own.system else found


def _named(key: str, namespace: str, name: str) -> dict[str, str]:
    return {key: worded(key, {"namespace": namespace, "name": name})}
