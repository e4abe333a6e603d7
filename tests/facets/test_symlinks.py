"""symlinks (dataset): which name counts, and that the others are kept."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import symlinks_dataset
from support.facet_cases import TOTALS, client_pair, event, facet, of_output, pair, spec, translate_events

PATH = {"namespace": "s3://lake", "name": "warehouse/orders"}
GLUE = {"namespace": "arn:aws:glue:eu-west-1:123456789012", "name": "table/shop/orders", "type": "TABLE"}
GLUE_URN = "urn:li:dataset:(urn:li:dataPlatform:glue,shop.orders,PROD)"
PATH_URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/warehouse/orders,PROD)"


def linked(*identifiers, catalog=None, **dataset):
    facets = {"symlinks": facet(identifiers=list(identifiers))}
    if catalog:
        facets["catalog"] = facet(framework=catalog)
    return translate_events(pair(outputs=[{**PATH, **dataset, "facets": facets}]))


def test_catalogue_s_table_is_the_name_of_a_path():
    found = linked(GLUE)
    assert found.entities("dataset") == {GLUE_URN}
    assert found.properties(GLUE_URN)["symlinks"] == (
        '[["TABLE","arn:aws:glue:eu-west-1:123456789012","table/shop/orders"],["","s3://lake","warehouse/orders"]]'
    )


def test_symlink_is_never_an_edge():
    (io,) = [one.value for one in linked(GLUE).proposals if one.aspect_name == "dataJobInputOutput"]
    assert [one["path"] for one in io] == [f"/outputDatasetEdges/{GLUE_URN}"]


@pytest.mark.parametrize(
    "identifier",
    [
        {**GLUE, "type": "LOCATION"},
        {**GLUE, "type": None},
        {**GLUE, "namespace": None},
        {**GLUE, "name": 7},
        {"namespace": "mystery://x", "name": "a.b", "type": "TABLE"},
        "glue",
        None,
    ],
)
def test_path_keeps_its_name_without_a_catalogue_that_we_know(identifier):
    assert linked(identifier).entities("dataset") == {PATH_URN}


def test_table_keeps_its_own_name():
    found = linked(GLUE, namespace="postgres://db:5432", name="shop.public.totals")
    assert found.entities("dataset") == {TOTALS}


def test_iceberg_catalogue_url_is_recognised_by_its_framework():
    rest = {"namespace": "https://catalog.example.com", "name": "shop.orders", "type": "TABLE"}
    (urn,) = linked(rest, catalog="iceberg").entities("dataset")
    assert urn.startswith("urn:li:dataset:(urn:li:dataPlatform:iceberg,")


def test_dataset_name_ignores_deleted_and_malformed_symlinks():
    broken = translate_events(event(outputs=[{**PATH, "facets": {"symlinks": "<<non-serializable: x>>"}}]))
    assert broken.entities("dataset") == {PATH_URN}
    deleted = translate_events(
        event(outputs=[{**PATH, "facets": {"symlinks": facet(identifiers=[GLUE], _deleted=True)}}])
    )
    assert deleted.entities("dataset") == {PATH_URN}


@pytest.mark.parametrize("body", [facet(identifiers=[]), facet(identifiers=None), facet()])
def test_empty_list_is_ignored(body):
    assert "symlinks" not in of_output("symlinks", body).properties(TOTALS)


def test_null_namespace_is_accepted():
    body = facet(identifiers=[{"namespace": None, "name": "x", "type": "TABLE"}])
    assert of_output("symlinks", body).properties(TOTALS)["symlinks"] == '[["TABLE","","x"]]'


def test_specification_s_document_is_read():
    properties = of_output("symlinks", spec("SymlinksDatasetFacet")["symlinks"]).properties(TOTALS)
    assert properties["symlinks"] == '[["TABLE","/tmp/alter_test","default.alter_table_test_new"]]'


def test_client_s_classes_are_read():
    made = symlinks_dataset.SymlinksDatasetFacet([symlinks_dataset.Identifier("hive://m", "a.b", "TABLE")])
    properties = translate_events(client_pair(outputs={"symlinks": made})).properties(TOTALS)
    assert properties["symlinks"] == '[["TABLE","hive://m","a.b"]]'


HIVE = "hive://metastore:9083"
FOLDER = {"namespace": "s3://lake", "name": "warehouse/shop.db/orders"}


def called(name, catalog="iceberg"):
    """URN of the table in that folder which a metastore calls ``name``."""
    (urn,) = linked({"namespace": HIVE, "name": name, "type": "TABLE"}, catalog=catalog, **FOLDER).entities("dataset")
    return urn.removeprefix("urn:li:dataset:(urn:li:dataPlatform:hive,").removesuffix(",PROD)")


@pytest.mark.parametrize("part", ["branch_audit", "tag_v1", "snapshots", "all_files"])
def test_iceberg_branches_tags_and_metadata_tables_are_the_table(part):
    assert called(f"shop.orders.{part}") == "shop.orders"
    assert called(f"lake.shop.orders.{part}") == "shop.orders"


def test_table_with_a_branch_like_name_keeps_its_name():
    assert called("orders.branch_audit") == "orders.branch_audit"
    assert called("lake.shop.tag_v1") == "shop.tag_v1"
    assert called("shop.orders.returns") == "orders.returns"


@pytest.mark.parametrize(
    ("namespace", "name", "urn"),
    [
        (HIVE, "shop.orders.changes", "hive,shop.orders"),
        ("file:/lake", "shop.orders.changes", "s3,lake/warehouse/shop.db/orders"),
        ("file:/lake", "shop.changes", "s3,lake/warehouse/shop.db/orders/changes"),
    ],
)
def test_iceberg_changes_view_is_its_table(namespace, name, urn):
    changes = {**FOLDER, "name": f"{FOLDER['name']}/changes"}
    found = linked({"namespace": namespace, "name": name, "type": "TABLE"}, catalog="iceberg", **changes)
    assert found.entities("dataset") == {f"urn:li:dataset:(urn:li:dataPlatform:{urn},PROD)"}


def test_all_names_of_a_branch_are_kept():
    branch = {"namespace": HIVE, "name": "shop.orders.branch_audit", "type": "TABLE"}
    found = linked(branch, **FOLDER)
    (urn,) = found.entities("dataset")
    assert '["TABLE","hive://metastore:9083","shop.orders.branch_audit"]' in found.properties(urn)["symlinks"]


LAKE_URN = "urn:li:dataset:(urn:li:dataPlatform:{},PROD)"


def dropped(namespace, name, warehouse, table):
    identifier = {"namespace": warehouse, "name": table, "type": "TABLE"}
    word = facet(lifecycleStateChange="DROP")
    facets = {"symlinks": facet(identifiers=[identifier]), "lifecycleStateChange": word}
    return translate_events(pair(outputs=[{"namespace": namespace, "name": name, "facets": facets}]))


@pytest.mark.parametrize(
    ("namespace", "folder", "warehouse", "urn"),
    [
        ("file", "/lake/shop.db", "file:/lake/shop.db", "file,/lake/shop.db/orders"),
        ("s3://b", "lake/shop.db", "s3://b/lake/shop.db", "s3,b/lake/shop.db/orders"),
    ],
)
def test_dropped_table_with_a_doubled_folder_is_recognised(namespace, folder, warehouse, urn):
    """DROP TABLE shop.orders, whose folder is /lake/shop.db/orders: OpenLineage's listener 1.53 sends another."""
    found = dropped(namespace, f"{folder}/shop.db/orders", warehouse, "shop.orders")
    assert found.entities("dataset") == {LAKE_URN.format(urn)}
    assert found.one(LAKE_URN.format(urn), "status") == {"removed": True}


@pytest.mark.parametrize(
    ("name", "warehouse", "table"),
    [
        ("/lake/shop.db/shop.db/orders", "file:/lake", "shop.orders"),
        ("/lake/shop.db/shop.db/orders", "file:/lake/shop.db", "other.orders"),
        ("/lake/shop.db/shop.db/orders", "file:/lake/shop.db", "shop.returns"),
        ("/lake/a.db/shop.db/orders", "file:/lake/a.db", "shop.orders"),
        ("/lake/shop.db/orders", "file:/lake", "shop.orders"),
    ],
)
def test_folders_of_that_name_that_are_there_are_kept(name, warehouse, table):
    assert dropped("file", name, warehouse, table).entities("dataset") == {LAKE_URN.format(f"file,{name}")}


@pytest.mark.parametrize(("namespace", "path"), [("file", "/lake/orders"), ("s3://b", "lake/orders")])
def test_log_of_a_delta_table_is_no_dataset(namespace, path):
    """A stream that reads a table reads its log in jobs of their own, which the listener reports as writers of it, too."""
    log = {"namespace": namespace, "name": f"{path}/_delta_log"}
    found = translate_events(event(inputs=[log], outputs=[log]), report=True)
    assert found.entities("dataset") == set()
    assert found.outcomes()["$.outputs[0].name"] == ("dropped", "phantom")
    properties = translate_events(event(inputs=[{"namespace": namespace, "name": f"{path}_delta_log"}]))
    assert len(properties.entities("dataset")) == 1
