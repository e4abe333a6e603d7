"""Chooses the name of a dataset: its own, that of a catalogue behind a symlink, or one completed from its connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from dh_bridge.naming.name import BY_FACET, DROPPED_BY_SETTING, REFUSED_BY_SETTING, UNKNOWN_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dh_bridge.naming import Name, Naming
    from dh_bridge.naming.models import SymlinkPreference
    from dh_bridge.openlineage.events import Dataset, Event

_MAX_LOG_PATH = 2_000
_decode = msgspec.json.Decoder().decode
#: The form in which a table's name is parsed if its first part is missing.
_CONTAINER_LEVELS = ("schema", "database")
_TEMPORARY_TYPES = ("TEMPORARY", "JOB_OUTPUT")
#: The naming system of catalogues that are folders.
_FILE_CATALOG = "file_catalog"
#: Frameworks of catalogues whose tables have URNs of schema and table in DataHub.
_CATALOG_FRAMEWORKS = frozenset({"iceberg", "hive"})
#: How dbt calls an ephemeral model in the queries that name it.
_EPHEMERAL_PREFIX = "__dbt__cte__"
#: Hamilton's name for every loader or saver without a file or table.
_UNKNOWN_NAME = "--UNKNOWN--"
#: The folder in a Delta table's own that Delta keeps its log in.
_DELTA_LOG_FOLDER = "_delta_log"


#: Keys of Airflow's remote logs, by the option `[logging] log_filename_template` of Airflow 2.3 and later, and before.
_AIRFLOW_LOG = re.compile(
    r"(?:.*/)?(?:dag_id=[^/]+/run_id=[^/]+/task_id=[^/]+/(?:map_index=-?\d+/)?attempt=\d+\.log(?:\.[\w.]+)?"
    r"|[^/]+/[^/]+/\d{4}-\d\d-\d\dT[^/]+/\d+\.log)"
).fullmatch


def is_airflow_log(dataset: Dataset) -> bool:
    """Whether a dataset that a task of Airflow names is a file of Airflow's own remote logging."""
    return ".log" in dataset.name and len(dataset.name) < _MAX_LOG_PATH and _AIRFLOW_LOG(dataset.name) is not None


def dataset_name(dataset: Dataset, naming: Naming, *, keep_ephemeral: bool = False) -> Name:
    """Return the name by which ``dataset`` is known: a function of the event alone."""
    name = naming(dataset.namespace, dataset.name)
    if dataset.name == _UNKNOWN_NAME:
        return skip_name(name, "phantom")
    if "dbt_model" in dataset.facets and not keep_ephemeral and _is_ephemeral(dataset):
        return skip_name(name, "ephemeral")
    if name.system in naming.preference.over and dataset.name.rstrip("/").rpartition("/")[2] == _DELTA_LOG_FOLDER:
        return skip_name(name, "phantom")
    if UNKNOWN_NAMESPACE in name.notes:
        name = _locate_by_facets(dataset, name, naming)
    if "symlinks" in dataset.facets and (name.skip is None or name.skip in (DROPPED_BY_SETTING, REFUSED_BY_SETTING)):
        return _resolve_symlink(dataset, name, naming)
    if "dataSource" in dataset.facets and (name.level in _CONTAINER_LEVELS or "missing-part" in name.notes):
        return _complete_database(dataset, name, naming)
    return name


def enumerate_datasets(datasets: Iterable[Dataset], naming: Naming) -> Iterator[tuple[int, Dataset]]:
    """Yield each dataset and the position of its entry, which may list several: Flink sends the topics of a table as one."""
    for position, dataset in enumerate(datasets):
        names = naming.listed_names(dataset.namespace, dataset.name)
        if names[0] == dataset.name:
            yield position, dataset
        else:
            yield from ((position, msgspec.structs.replace(dataset, name=name)) for name in names)


def datasets_of(event: Event, naming: Naming) -> Iterator[Dataset]:
    """Yield the datasets of an event, whatever they are to it."""
    event_dataset = [event.dataset] if event.dataset is not None else []
    yield from (dataset for _, dataset in enumerate_datasets([*event.inputs, *event.outputs, *event_dataset], naming))


def skip_name(name: Name, reason: str) -> Name:
    """Return the name of an entry that is no dataset, for ``reason``."""
    return msgspec.structs.replace(name, urn=None, endpoint=None, skip=reason)


def _is_ephemeral(dataset: Dataset) -> bool:
    """Whether dbt makes no table of this model: it is a part of the queries that name it."""
    config = _read_facet(dataset, "dbt_model").get("config")
    return isinstance(config, dict) and str(config.get("materialized")).lower() == "ephemeral"


def is_temporary(dataset: Dataset) -> bool:
    """Whether the facet ``datasetType`` states that the dataset is internal to its jobs."""
    for facets in (dataset.facets, dataset.input_facets, dataset.output_facets):
        if "datasetType" in facets:
            facet = _decode_facet(facets["datasetType"])
            type_names = (facet.get("datasetType"), facet.get("subType"))
            return any(
                isinstance(type_name, str) and type_name.strip().upper() in _TEMPORARY_TYPES for type_name in type_names
            )
    return False


def is_phantom(dataset: Dataset, event: Event) -> bool:
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


def resolve_query_dataset(
    resolve: Callable[[str, str], Name], datasets: Mapping[tuple[str, str], Name], namespace: str, name: str
) -> Name:
    """Return the name of a dataset that column lineage of dbt reads in a query; ``datasets`` are those of the event.

    dbt writes tables with their schema: what has none is a part of the query (``with src as (select * …)``), or a function.
    """
    resolved_name = resolve(namespace, name)
    if "." in name or resolved_name.skip is not None:
        return resolved_name
    if not name.startswith(_EPHEMERAL_PREFIX):
        return skip_name(resolved_name, "phantom")
    model = name.removeprefix(_EPHEMERAL_PREFIX)
    for (server, sent_name), event_name in datasets.items():
        if server == namespace and sent_name.rpartition(".")[2] == model:
            return event_name
    return skip_name(resolved_name, "ephemeral")


def _read_facet(dataset: Dataset, key: str) -> dict[str, Any]:
    raw = dataset.facets.get(key)
    return {} if raw is None else _decode_facet(raw)


def _decode_facet(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        facet = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return facet if isinstance(facet, dict) and facet.get("_deleted") is not True else {}


def _resolve_symlink(dataset: Dataset, name: Name, naming: Naming) -> Name:
    preference = naming.preference
    if name.system is not None and name.system not in preference.over:
        return name
    identifiers = _read_facet(dataset, "symlinks").get("identifiers")
    framework = str(_read_facet(dataset, "catalog").get("framework") or "").lower()
    for identifier in identifiers if isinstance(identifiers, list) else ():
        if not isinstance(identifier, dict) or str(identifier.get("type") or "").upper() != "TABLE":
            continue
        namespace, identifier_name = identifier.get("namespace"), identifier.get("name")
        if not isinstance(namespace, str) or not isinstance(identifier_name, str):
            continue
        select = "iceberg" if namespace.startswith("http") or framework == "iceberg" else None
        folder = _table_folder(dataset.name, namespace, identifier_name, preference)
        identifier_name = _strip_metadata_name(identifier_name, folder, preference)
        table_name = naming(namespace, identifier_name, select=select)
        if framework == "iceberg" and table_name.system not in {*preference.preferred, _FILE_CATALOG}:
            # a catalogue in a database: its address is that of the catalogue, not of the table
            table_name = naming("iceberg", identifier_name)
        if table_name.system in preference.preferred and table_name.endpoint is not None:
            return table_name
        if folder != dataset.name:
            name = naming(dataset.namespace, folder)
    return name


def _strip_metadata_name(name: str, path: str, preference: SymlinkPreference) -> str:
    """Return the table at ``path`` that ``name`` is a branch, a tag or the metadata of, else ``name``: cat.orders.files is cat.orders."""
    table, _, suffix = name.rpartition(".")
    schema, _, last = table.rpartition(".")
    is_part_of_table = suffix in preference.metadata or suffix.startswith(preference.versions)
    return table if is_part_of_table and schema and last == path.rstrip("/").rpartition("/")[2] else name


def _table_folder(path: str, namespace: str, table: str, preference: SymlinkPreference) -> str:
    """Return the folder of a table, where the path is another.

    OpenLineage's listener for Spark (1.53) names the folder of its database twice, once it is gone; and the changes of an
    Iceberg table, db.orders.changes, as /db/orders/changes.
    """
    database, _, name = table.rpartition(".")
    _, dot, last = database.rpartition(".")
    if dot and name in preference.metadata and path.endswith(f"/{last}/{name}"):
        return path.removesuffix(f"/{name}")
    database_folder = f"/{database}.db"
    doubled_path = f"{database_folder}{database_folder}/{name}"
    return (
        f"{path.removesuffix(doubled_path)}{database_folder}/{name}"
        if namespace.endswith(database_folder) and path.endswith(doubled_path)
        else path
    )


def _locate_by_facets(dataset: Dataset, name: Name, naming: Naming) -> Name:
    """Return the name that facets give to a dataset of an unknown namespace, ``name`` if they give none."""
    located_name = None
    if "dataSource" in dataset.facets:
        located_name = _locate_source(dataset, naming)
    elif "catalog" in dataset.facets:
        located_name = _locate_in_catalog(dataset, naming)
    if located_name is None or located_name.system is None:
        return name
    if located_name.skip is not None or located_name.missing_levels:
        return name
    return msgspec.structs.replace(
        located_name, namespace=name.namespace, name=name.name, safe_namespace=name.safe_namespace,
        notes=(*located_name.notes, BY_FACET),
    )  # fmt: skip


def _locate_in_catalog(dataset: Dataset, naming: Naming) -> Name | None:
    """Return the name of a table of Iceberg or Hive: with Gravitino the namespace is a metalake, the name begins with a catalogue."""
    framework = str(_read_facet(dataset, "catalog").get("framework") or "").lower()
    catalog, _, table = dataset.name.partition(".")
    if framework not in _CATALOG_FRAMEWORKS or not catalog:
        return None
    return naming(framework, table if "." in table else dataset.name)


def _locate_source(dataset: Dataset, naming: Naming) -> Name | None:
    """Return the name in ``dataSource.uri``: Hamilton's namespace is chosen by the user."""
    uri = _read_facet(dataset, "dataSource").get("uri")
    if not isinstance(uri, str) or not uri.strip():
        return None
    if uri.startswith("/"):
        return naming("file", uri)
    if ":" not in uri:
        return None
    located_name = naming(uri, dataset.name)
    is_whole = uri.rstrip("/").endswith(dataset.name.strip("/"))
    if is_whole or located_name.skip is not None or located_name.missing_levels:
        whole_name = naming(uri, "")
        return whole_name if whole_name.skip is None else located_name
    return located_name


def _complete_database(dataset: Dataset, name: Name, naming: Naming) -> Name:
    """Return the name with the database of ``dataSource.uri``, when that names the same host."""
    uri = _read_facet(dataset, "dataSource").get("uri")
    if not isinstance(uri, str) or "://" not in uri:
        return name
    try:
        source_url, namespace_url = (
            urlsplit(uri.removeprefix("jdbc:")),
            urlsplit(dataset.namespace.removeprefix("jdbc:")),
        )
        is_same_host = source_url.hostname is not None and source_url.hostname == namespace_url.hostname
    except ValueError:
        return name
    database = source_url.path.strip("/").partition("/")[0]
    if not is_same_host or not database or dataset.name.partition(".")[0] == database:
        return name
    completed_name = naming(dataset.namespace, f"{database}.{dataset.name.lstrip('.')}")
    return (
        completed_name
        if completed_name.endpoint is not None
        and completed_name.level not in _CONTAINER_LEVELS
        and "missing-part" not in completed_name.notes
        else name
    )
