"""Strategies for hypothesis: facets of the registry, events with these facets, runs of such events.

The facets are generated from the Structs of their modules, so new facets are included without a change here.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec.inspect as types

from dh_bridge.facets import registry

if TYPE_CHECKING:
    from types import ModuleType

    from hypothesis.strategies import SearchStrategy

    from dh_bridge.facet_support.context import AttachPoint

_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_SPEC = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/"
PRODUCERS = (
    _SPEC + "integration/spark",
    _SPEC + "integration/dbt",
    _SPEC + "integration/flink",
    "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3",
    "https://example.com/own-scripts",
)
NAMESPACES = ("postgres://db:5432", "s3://lake", "kafka://broker:9092", "bigquery", "file", "urn:odd")
_SAMPLE_TEXTS = (
    "id",
    "amount",
    "shop.public.orders",
    "/data/orders/day=1",
    "STRING",
    "user:ann",
    "2026-11-20T10:00:00Z",
    "90",
)
_YEARS = (datetime(2020, 1, 1), datetime(2030, 1, 1))  # noqa: DTZ001 - hypothesis adds time zones
_TERMINAL = ("COMPLETE", "FAIL", "ABORT")


def events() -> SearchStrategy[dict[str, Any]]:
    """Return a strategy of events as JSON objects: RunEvents, JobEvents and DatasetEvents with any facets."""
    st = _hypothesis()
    strategy: SearchStrategy[dict[str, Any]] = st.one_of(_run_events(st), _job_events(st), _dataset_events(st))
    return strategy


def runs(*, max_events: int = 4) -> SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy of runs: up to ``max_events`` RunEvents of one run and job, from START to its end, in that order."""
    st = _hypothesis()

    def complete_run(parts: tuple[list[dict[str, Any]], str, str]) -> list[dict[str, Any]]:
        run_events, name, last_type = parts
        event_types = ["START", *["RUNNING"] * (len(run_events) - 2), last_type] if len(run_events) > 1 else [last_type]
        first = run_events[0]
        for second, (event, event_type) in enumerate(zip(run_events, event_types, strict=True)):
            event |= {
                "eventType": event_type,
                "eventTime": f"2026-11-20T10:00:{second:02}Z",
                "producer": first["producer"],
            }
            event["run"]["runId"] = first["run"]["runId"]
            event["job"] |= {"namespace": first["job"]["namespace"], "name": name}
        return run_events

    event_lists = st.lists(_run_events(st), min_size=1, max_size=max_events)
    strategy: SearchStrategy[list[dict[str, Any]]] = st.tuples(event_lists, _names(st), st.sampled_from(_TERMINAL)).map(
        complete_run
    )
    return strategy


def facets(attach: AttachPoint) -> SearchStrategy[dict[str, Any]]:
    """Return a strategy of facet groups (``run``, ``job`` or ``dataset``) of at most three facets."""
    strategy: SearchStrategy[dict[str, Any]] = _facet_bags(_hypothesis(), attach)
    return strategy


def _hypothesis() -> ModuleType:
    try:
        from hypothesis import strategies  # noqa: PLC0415 - only those who test need it
    except ImportError as error:
        raise ModuleNotFoundError(
            "dh_bridge.testing requires hypothesis to generate events: pip install hypothesis"
        ) from error
    return strategies


def _run_events(st: Any) -> Any:
    return st.fixed_dictionaries(
        {
            "eventType": st.sampled_from(("START", "RUNNING", "OTHER", *_TERMINAL)),
            **_envelope(st, "RunEvent"),
            "run": st.fixed_dictionaries({"runId": st.uuids().map(str), "facets": _facet_bags(st, "run")}),
            "job": _jobs(st),
        },
        optional=_inputs_and_outputs(st),
    )


def _job_events(st: Any) -> Any:
    return st.fixed_dictionaries({**_envelope(st, "JobEvent"), "job": _jobs(st)}, optional=_inputs_and_outputs(st))


def _dataset_events(st: Any) -> Any:
    return st.fixed_dictionaries({**_envelope(st, "DatasetEvent"), "dataset": _datasets(st)})


def _envelope(st: Any, kind: str) -> dict[str, Any]:
    times = st.datetimes(*_YEARS).map(lambda time: f"{time.isoformat()}Z")
    return {"eventTime": times, "producer": st.sampled_from(PRODUCERS), "schemaURL": st.just(_SCHEMA + kind)}


def _jobs(st: Any) -> Any:
    namespaces = st.sampled_from(("shop_prod", "default", *NAMESPACES))
    return st.fixed_dictionaries({"namespace": namespaces, "name": _names(st), "facets": _facet_bags(st, "job")})


def _inputs_and_outputs(st: Any) -> dict[str, Any]:
    return {
        "inputs": st.lists(_datasets(st, "inputFacets"), max_size=2),
        "outputs": st.lists(_datasets(st, "outputFacets"), max_size=2),
    }


def _datasets(st: Any, facets_key: str | None = None) -> Any:
    parts = {"namespace": st.sampled_from(NAMESPACES), "name": _names(st), "facets": _facet_bags(st, "dataset")}
    return st.fixed_dictionaries(parts, optional={facets_key: _facet_bags(st, "dataset")} if facets_key else {})


@lru_cache(maxsize=256)
def _names(st: Any) -> Any:
    parts = st.sampled_from(("orders", "shop", "public", "raw", "daily", "load", "total_2026", "Ünïcode", "a b"))
    return st.lists(parts, min_size=1, max_size=4).map(".".join)


@lru_cache(maxsize=4)
def _facet_bags(st: Any, attach: AttachPoint) -> Any:
    keyed_facet = st.sampled_from(sorted(registry()[attach])).flatmap(
        lambda key: st.tuples(st.just(key), _facet(st, attach, key))
    )
    return st.lists(keyed_facet, max_size=3).map(dict)


@lru_cache(maxsize=256)
def _facet(st: Any, attach: AttachPoint, key: str) -> Any:
    reads = registry()[attach][key].struct
    strategy = _json_objects(st) if reads is None else _struct(st, reads)
    return strategy.map(lambda content: {"_producer": PRODUCERS[0], "_schemaURL": f"{_SCHEMA}{key}", **content})


@lru_cache(maxsize=256)
def _json_objects(st: Any) -> Any:
    """Return any JSON object, for the facets that have no fixed form."""
    return st.dictionaries(st.sampled_from(_SAMPLE_TEXTS), _any_json(st), max_size=3)


@lru_cache(maxsize=256)
def _any_json(st: Any) -> Any:
    scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), _texts(st))
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts(st), inner, max_size=2),
        max_leaves=4,
    )


@lru_cache(maxsize=256)
def _texts(st: Any) -> Any:
    return st.one_of(st.sampled_from(_SAMPLE_TEXTS), st.text(st.characters(codec="utf-8"), max_size=12))


@lru_cache(maxsize=256)
def _struct(st: Any, cls: type) -> Any:
    """Return the strategy of a Struct, built when it is first drawn from: fields of schemas hold fields."""

    def build() -> Any:
        kind = types.type_info(cls)
        assert isinstance(kind, types.StructType)  # noqa: S101 - a facet reads into a Struct
        fields = {field.encode_name: field.type for field in kind.fields if not field.encode_name.startswith("_")}
        return st.fixed_dictionaries({}, optional={name: _type_strategy(st, inner) for name, inner in fields.items()})

    return st.deferred(build)


def _type_strategy(st: Any, kind: types.Type) -> Any:
    """Return the strategy of a field's type, as msgspec describes it."""
    if isinstance(kind, types.StructType):
        return _struct(st, kind.cls)
    if isinstance(kind, types.UnionType):
        return st.one_of([_type_strategy(st, member) for member in kind.types])
    if isinstance(kind, types.ListType):
        return st.lists(_type_strategy(st, kind.item_type), max_size=2)
    if isinstance(kind, types.DictType):
        return st.dictionaries(_texts(st), _type_strategy(st, kind.value_type), max_size=2)
    plain = {
        types.NoneType: st.none,
        types.BoolType: st.booleans,
        types.IntType: lambda: st.integers(0, 2**40),
        types.FloatType: lambda: st.floats(0, 1e9),
        types.StrType: lambda: _texts(st),
    }
    return plain.get(type(kind), lambda: _any_json(st))()
