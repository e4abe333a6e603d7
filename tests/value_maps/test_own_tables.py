"""A user's own tables: a file replaces the bundled one of its name; an invalid file is reported at the start."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml
from support.facet_cases import DBT, ORDERS, TOTALS, facet, orders, pair, totals, translate_events
from support.value_tables import TABLES, document

from dh_bridge import Bridge, Settings
from dh_bridge.assertions import errors, table
from dh_bridge.bundled import MAPPINGS
from dh_bridge.columns import types
from dh_bridge.errors import BridgeError
from dh_bridge.identity import Identity
from dh_bridge.identity.varying_names import VaryingNamesDocument
from dh_bridge.naming import Naming, schemes
from dh_bridge.naming.models import SymlinkPreference
from dh_bridge.naming.temporary import TemporaryDocument
from dh_bridge.sdk import Pipeline
from dh_bridge.settings.naming import NamingSettings
from dh_bridge.value_maps import dataset_types, operation_types, sql_dialects
from dh_bridge.value_maps import owner_types as people

NAMES = sorted(path.stem for path in (MAPPINGS / "tables").iterdir())
ROW = {"scope": "rows", "aggregation": "ROW_COUNT", "operator": "EQUAL_TO", "parameters": {"constant": "7"}}
CHANGES = {
    "assertion_errors": {"errors": [{"type": "INSUFFICIENT_DATA", "words": ["warehouse asleep"]}]},
    "assertions": {"checks": [{"names": ["acme_seven"], **ROW}, document("assertions")["checks"][-1]]},
    "column_types": {"types": {"MapType": {"names": ["acme_bag"]}}},
    "dataset_types": {"words": {"VIEW": ["Acme Window"]}},
    "operation_types": {"words": [{"type": "DELETE", "words": ["ACME_PURGE"]}]},
    "owner_types": {"types": [{"type": "DATA_STEWARD", "words": ["gardener"]}]},
    "file_extensions": {"extensions": ["acme"]},
    "platforms": {"platforms": ["acme-db"], "aliases": {"adb": "acme-db"}},
    "queries": {"patterns": ["acme query"]},
    "schemes": {"aliases": {"acmegres": "postgres"}, "api_paths": ["acme/*"]},
    "sql_dialects": {"dialects": [{"platform": "trino", "words": ["acme-sql"]}]},
    "symlinks": {"preferred": ["hive"], "over": ["postgres"]},
    "temporary": {"sql": {"table": ["^acme_scratch_"]}, "files": {}, "platforms": {}},
    "varying_names": {
        "forms": [{"form": "acme", "pattern": r"acme\d+", "source": "Acme", "examples": {"orders_acme7": "orders"}}]
    },
}

DOCUMENTS = {
    "assertion_errors": errors.AssertionErrorsDocument,
    "assertions": table.AssertionsDocument,
    "column_types": types.ColumnTypesDocument,
    "dataset_types": dataset_types.DatasetTypesDocument,
    "operation_types": operation_types.OperationTypesDocument,
    "owner_types": people.OwnerTypesDocument,
    "file_extensions": schemes.FileExtensionsDocument,
    "platforms": schemes.PlatformTable,
    "queries": schemes.QueriesDocument,
    "schemes": schemes.SchemeTable,
    "sql_dialects": sql_dialects.SqlDialectsDocument,
    "symlinks": SymlinkPreference,
    "temporary": TemporaryDocument,
    "varying_names": VaryingNamesDocument,
}


def folder(tmp_path, name, **change):
    (tmp_path / "tables").mkdir(exist_ok=True)
    (tmp_path / "tables" / f"{name}.yaml").write_text(yaml.safe_dump({**document(name), **change}), encoding="utf-8")
    return str(tmp_path)


def shadowed(tmp_path, name):
    return folder(tmp_path, name, **CHANGES[name])


def check(**leaves):
    return pair(
        producer=DBT,
        inputs=[orders(inputFacets={"dataQualityAssertions": facet(assertions=[{"success": False, **leaves}])})],
    )


def checked(found, aspect, field):
    (value,) = {str(one.value[field]) for one in found.proposals if one.aspect_name == aspect}
    return value


def test_every_table_can_be_a_users_own():
    assert set(CHANGES) == set(NAMES)


def test_assertion_follows_the_custom_table(tmp_path):
    found = translate_events(
        check(assertion="acme_seven"), datahub_version="1.7", mappings=shadowed(tmp_path, "assertions")
    )
    assert "'aggregation': 'ROW_COUNT', 'operator': 'EQUAL_TO', 'parameters': {'value': {'value': '7'" in checked(
        found, "assertionInfo", "customAssertion"
    )


def test_sdk_assertion_follows_the_custom_table(tmp_path):
    pipeline = Pipeline(
        sink="memory:", settings=Settings(datahub_version="0.15.0", mappings=shadowed(tmp_path, "assertions"))
    )
    made = pipeline.assertion(ORDERS, "acme_seven", platform="acme")
    assert made.info["datasetAssertion"]["parameters"] == {"value": {"value": "7", "type": "NUMBER"}}


def test_error_is_of_the_users_type(tmp_path):
    events = check(
        assertion="not_null", name="not_null_orders", severity="error", params={"error_message": "the warehouse asleep"}
    )
    found = translate_events(events, mappings=shadowed(tmp_path, "assertion_errors"))
    assert "INSUFFICIENT_DATA" in checked(found, "assertionRunEvent", "result")


def test_columns_datasets_and_owners_follow_custom_tables(tmp_path):
    for name in ("column_types", "dataset_types", "owner_types"):
        shadowed(tmp_path, name)
    facets = {
        "schema": facet(fields=[{"name": "bag", "type": "acme_bag"}]),
        "datasetType": facet(datasetType="VIEW"),
        "ownership": facet(owners=[{"name": "user:ann", "type": "gardener"}]),
    }
    found = translate_events(pair(outputs=[totals(facets=facets)]), mappings=str(tmp_path))
    (schema,) = found.all(TOTALS, "schemaMetadata")
    assert schema["fields"][0]["type"] == {"type": {"com.linkedin.schema.MapType": {}}}
    assert found.one(TOTALS, "subTypes") == {"typeNames": ["Acme Window"]}
    (owner,) = found.patched(TOTALS, "ownership").values()
    assert owner["type"] == "DATA_STEWARD"


def test_operation_follows_the_custom_table(tmp_path):
    stated = facet(lifecycleStateChange="ACME_PURGE")
    found = translate_events(
        pair(outputs=[totals(facets={"lifecycleStateChange": stated})]), mappings=shadowed(tmp_path, "operation_types")
    )
    assert found.one(TOTALS, "operation")["operationType"] == "DELETE"


def test_query_is_of_the_platform_of_the_users_table(tmp_path):
    events = pair(job={"sql": facet(query="select 1", dialect="acme-sql")}, outputs=[totals()])
    found = translate_events(
        events, optional_metadata=["queries"], datahub_version="1.7", mappings=shadowed(tmp_path, "sql_dialects")
    )
    assert [
        one.value["platform"]
        for one in found.proposals
        if (one.entity_type, one.aspect_name) == ("query", "dataPlatformInstance")
    ] == ["urn:li:dataPlatform:trino"]


def test_dataset_name_follows_the_custom_symlink_table(tmp_path):
    identifiers = [{"namespace": "hive://h:9083", "name": "shop.totals", "type": "TABLE"}]
    events = pair(outputs=[totals(facets={"symlinks": facet(identifiers=identifiers)})])
    assert translate_events(events).has(TOTALS, "datasetProperties")
    found = translate_events(events, mappings=shadowed(tmp_path, "symlinks"))
    assert not found.has(TOTALS, "datasetProperties")
    assert found.has("urn:li:dataset:(urn:li:dataPlatform:hive,shop.totals,PROD)", "datasetProperties")


@pytest.mark.parametrize(
    ("name", "namespace", "dataset", "expected"),
    [
        ("file_extensions", "s3://lake/raw", "orders.acme", "s3,lake/raw/orders.acme"),
        ("platforms", "adb://h", "shop.orders", "acme-db,shop.orders"),
        ("schemes", "acmegres://h/shop", "public.orders", "postgres,shop.public.orders"),
        ("schemes", "trino://h/acme/x", "orders", "trino,orders"),
    ],
)
def test_dataset_is_named_by_the_users_tables(tmp_path, name, namespace, dataset, expected):
    naming = Naming(NamingSettings(), Path(shadowed(tmp_path, name)))
    assert naming(namespace, dataset).endpoint == f"urn:li:dataset:(urn:li:dataPlatform:{expected},PROD)"


def test_query_name_follows_the_custom_table(tmp_path):
    naming = Naming(NamingSettings(), Path(shadowed(tmp_path, "queries")))
    assert naming("postgres://h", "shop.acme query 7").skip == "policy:query"


def test_job_is_named_by_the_users_forms(tmp_path):
    identity = Identity(overlay=Path(shadowed(tmp_path, "varying_names")))
    assert identity.job("ns", "orders_acme7", None).job_id == "orders"
    assert identity.job("ns", "orders_20261101", None).job_id == "orders_20261101"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("queries", {"patterns": ["("]}),
        ("varying_names", {"forms": [{"form": "acme", "pattern": "(", "source": "Acme", "examples": {"a1": "a"}}]}),
        *[(name, {"mispelt": 1}) for name in NAMES],
        ("assertion_errors", {"otherwise": "NOT_MY_FAULT"}),
        ("column_types", {"types": {"BagType": {"names": ["bag"]}}}),
        ("column_types", {"types": ["MapType"]}),
        ("operation_types", {"sql": [{"type": "DROP", "pattern": "("}]}),
        ("owner_types", {"types": [{"type": "GARDENER", "words": ["gardener"]}]}),
        ("sql_dialects", {"dialects": [{"platform": "Acme SQL", "words": ["acme"]}]}),
        ("symlinks", {"preferred": ["hivee"]}),
    ],
)
def test_invalid_custom_table_is_an_error_at_startup(tmp_path, name, change):
    with pytest.raises(BridgeError, match=f"tables/{name}.yaml: "):
        Bridge(Settings(mappings=folder(tmp_path, name, **change)))


def choices(node):
    """Yield what a JSON schema lets one choose from: values and keys."""
    if isinstance(node, dict):
        yield from (frozenset(node[word]) - {""} for word in ("enum", "properties") if word in node)
        node = list(node.values())
    for member in node if isinstance(node, list) else ():
        yield from choices(member)


@pytest.mark.parametrize("name", NAMES)
def test_table_model_choices_are_in_the_published_schema(name):
    schema = json.loads((MAPPINGS / "schema" / f"{name}.schema.json").read_text(encoding="utf-8"))
    read_by = set(choices(msgspec.json.schema(DOCUMENTS[name])))
    assert read_by
    assert read_by <= set(choices(schema))


def test_ours_are_read_once(tmp_path):
    own = Bridge(Settings(mappings=shadowed(tmp_path, "owner_types"))).options.tables
    assert own.operation_types is TABLES.operation_types
    assert own.owner_types is not TABLES.owner_types
