"""Which of a dataset's names counts: its own, that of a catalogue behind a symlink, or one completed from its connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from dh_bridge.translation.naming.name import DROPPED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.translation.naming import Name, Naming
    from dh_bridge.translation.naming.preference import Preference

_decode = msgspec.json.Decoder().decode
#: What a table's name is read as when its first part is missing.
_ABOVE = ("schema", "database")
_TEMPORARY = ("TEMPORARY", "JOB_OUTPUT")
#: How dbt calls an ephemeral model in the queries that name it.
_EPHEMERAL = "__dbt__cte__"
#: How Hamilton calls whatever its loaders and savers tell neither file nor table of: the same name for all of them.
_UNTOLD = "--UNKNOWN--"
#: The folder in a Delta table's own that Delta keeps its log in.
_LOG = "_delta_log"


def dataset_name(dataset: Dataset, naming: Naming, *, keep_ephemeral: bool = False) -> Name:
    """Return the name by which ``dataset`` is known: a function of the event alone."""
    name = naming(dataset.namespace, dataset.name)
    if dataset.name == _UNTOLD:
        return skipped(name, "phantom")
    if "dbt_model" in dataset.facets and not keep_ephemeral and _ephemeral(dataset):
        return skipped(name, "ephemeral")
    if name.system in naming.preference.over and dataset.name.rstrip("/").rpartition("/")[2] == _LOG:
        return skipped(name, "phantom")
    if "symlinks" in dataset.facets and (name.skip is None or name.skip in (DROPPED, REFUSED)):
        return _by_symlink(dataset, name, naming)
    if "dataSource" in dataset.facets and (name.level in _ABOVE or "missing-part" in name.notes):
        return _completed(dataset, name, naming)
    return name


def numbered(datasets: Iterable[Dataset], naming: Naming) -> Iterator[tuple[int, Dataset]]:
    """Yield each dataset and the position of its entry, which may list several: Flink sends the topics of a table as one."""
    for position, dataset in enumerate(datasets):
        names = naming.listed(dataset.namespace, dataset.name)
        if names[0] == dataset.name:
            yield position, dataset
        else:
            yield from ((position, msgspec.structs.replace(dataset, name=name)) for name in names)


def datasets_of(event: Event, naming: Naming) -> Iterator[Dataset]:
    """Yield the datasets of an event, whatever they are to it."""
    alone = [event.dataset] if event.dataset is not None else []
    yield from (dataset for _, dataset in numbered([*event.inputs, *event.outputs, *alone], naming))


def skipped(name: Name, reason: str) -> Name:
    """Return the name of what is no dataset, for ``reason``."""
    return msgspec.structs.replace(name, urn=None, endpoint=None, skip=reason)


def _ephemeral(dataset: Dataset) -> bool:
    """Whether dbt makes no table of this model: it is a part of the queries that name it."""
    config = _read(dataset, "dbt_model").get("config")
    return isinstance(config, dict) and str(config.get("materialized")).lower() == "ephemeral"


def temporary(dataset: Dataset) -> bool:
    """Whether the facet ``datasetType`` says that the dataset is there for its jobs alone."""
    for facets in (dataset.facets, dataset.input_facets, dataset.output_facets):
        if "datasetType" in facets:
            facet = _decoded(facets["datasetType"])
            words = (facet.get("datasetType"), facet.get("subType"))
            return any(isinstance(word, str) and word.strip().upper() in _TEMPORARY for word in words)
    return False


def phantom(dataset: Dataset, event: Event) -> bool:
    """Whether an output of a dbt job is the table of failing rows that its test does not keep."""
    if not dataset.name.rpartition(".")[0].endswith("dbt_test__audit") or "schema" in dataset.facets:
        return False
    raw = event.job_facets.get("jobType")
    if raw is None:
        return event.name.startswith("test.")
    try:
        facet = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(facet, dict) and str(facet.get("jobType")).upper() == "TEST"


def in_query(
    resolve: Callable[[str, str], Name], datasets: Mapping[tuple[str, str], Name], namespace: str, name: str
) -> Name:
    """Return the name of a dataset that column lineage of dbt reads in a query; ``datasets`` are those of the event.

    dbt writes tables with their schema: what has none is a part of the query (``with src as (select * …)``), or a function.
    """
    found = resolve(namespace, name)
    if "." in name or found.skip is not None:
        return found
    if not name.startswith(_EPHEMERAL):
        return skipped(found, "phantom")
    model = name.removeprefix(_EPHEMERAL)
    for (server, called), known in datasets.items():
        if server == namespace and called.rpartition(".")[2] == model:
            return known
    return skipped(found, "ephemeral")


def _read(dataset: Dataset, key: str) -> dict[str, Any]:
    raw = dataset.facets.get(key)
    return {} if raw is None else _decoded(raw)


def _decoded(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        facet = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return facet if isinstance(facet, dict) and facet.get("_deleted") is not True else {}


def _by_symlink(dataset: Dataset, name: Name, naming: Naming) -> Name:
    rows = naming.preference
    if name.system is not None and name.system not in rows.over:
        return name
    identifiers = _read(dataset, "symlinks").get("identifiers")
    framework = str(_read(dataset, "catalog").get("framework") or "").lower()
    for identifier in identifiers if isinstance(identifiers, list) else ():
        if not isinstance(identifier, dict) or str(identifier.get("type") or "").upper() != "TABLE":
            continue
        namespace, other = identifier.get("namespace"), identifier.get("name")
        if not isinstance(namespace, str) or not isinstance(other, str):
            continue
        select = "iceberg" if namespace.startswith("http") or framework == "iceberg" else None
        folder = _folder(dataset.name, namespace, other, rows)
        found = naming(namespace, _table(other, folder, rows), select=select)
        if found.system in rows.preferred and found.endpoint is not None:
            return found
        if folder != dataset.name:
            name = naming(dataset.namespace, folder)
    return name


def _table(name: str, path: str, rows: Preference) -> str:
    """Return the table at ``path`` that ``name`` is a branch, a tag or the metadata of, else ``name``: cat.orders.files is cat.orders."""
    table, _, part = name.rpartition(".")
    schema, _, last = table.rpartition(".")
    below = part in rows.metadata or part.startswith(rows.versions)
    return table if below and schema and last == path.rstrip("/").rpartition("/")[2] else name


def _folder(path: str, namespace: str, table: str, rows: Preference) -> str:
    """Return the folder of a table, where the path is another.

    OpenLineage's listener for Spark (1.53) names the folder of its database twice, once it is gone; and the changes of an
    Iceberg table, db.orders.changes, as /db/orders/changes.
    """
    database, _, name = table.rpartition(".")
    _, dot, last = database.rpartition(".")
    if dot and name in rows.metadata and path.endswith(f"/{last}/{name}"):
        return path.removesuffix(f"/{name}")
    inside = f"/{database}.db"
    twice = f"{inside}{inside}/{name}"
    return f"{path.removesuffix(twice)}{inside}/{name}" if namespace.endswith(inside) and path.endswith(twice) else path


def _completed(dataset: Dataset, name: Name, naming: Naming) -> Name:
    """Return the name with the database of ``dataSource.uri``, when that names the same host."""
    uri = _read(dataset, "dataSource").get("uri")
    if not isinstance(uri, str) or "://" not in uri:
        return name
    try:
        there, here = urlsplit(uri.removeprefix("jdbc:")), urlsplit(dataset.namespace.removeprefix("jdbc:"))
        same = there.hostname is not None and there.hostname == here.hostname
    except ValueError:
        return name
    database = there.path.strip("/").partition("/")[0]
    if not same or not database or dataset.name.partition(".")[0] == database:
        return name
    found = naming(dataset.namespace, f"{database}.{dataset.name.lstrip('.')}")
    return (
        found
        if found.endpoint is not None and found.level not in _ABOVE and "missing-part" not in found.notes
        else name
    )
