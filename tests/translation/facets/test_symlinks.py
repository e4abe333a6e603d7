"""symlinks (dataset): which name counts, and that the others are kept."""

from __future__ import annotations

import pytest
from facet_cases import TOTALS, client_pair, event, facet, of_output, pair, spec, told
from openlineage.client.facet_v2 import symlinks_dataset

PATH = {"namespace": "s3://lake", "name": "warehouse/orders"}
GLUE = {"namespace": "arn:aws:glue:eu-west-1:123456789012", "name": "table/shop/orders", "type": "TABLE"}
GLUE_URN = "urn:li:dataset:(urn:li:dataPlatform:glue,shop.orders,PROD)"
PATH_URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/warehouse/orders,PROD)"


def linked(*identifiers, catalog=None, **dataset):
    facets = {"symlinks": facet(identifiers=list(identifiers))}
    if catalog:
        facets["catalog"] = facet(framework=catalog)
    return told(pair(outputs=[{**PATH, **dataset, "facets": facets}]))


def test_a_catalogue_s_table_is_the_name_of_a_path():
    found = linked(GLUE)
    assert found.entities("dataset") == {GLUE_URN}
    assert found.kept(GLUE_URN)["symlinks"] == (
        '[["TABLE","arn:aws:glue:eu-west-1:123456789012","table/shop/orders"],["","s3://lake","warehouse/orders"]]'
    )


def test_a_symlink_is_never_an_edge():
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
def test_a_path_keeps_its_name_without_a_catalogue_that_we_know(identifier):
    assert linked(identifier).entities("dataset") == {PATH_URN}


def test_a_table_keeps_its_own_name():
    found = linked(GLUE, namespace="postgres://db:5432", name="shop.public.totals")
    assert found.entities("dataset") == {TOTALS}


def test_an_iceberg_catalogue_s_address_is_told_by_framework_or_form():
    rest = {"namespace": "https://catalog.example.com", "name": "shop.orders", "type": "TABLE"}
    (urn,) = linked(rest, catalog="iceberg").entities("dataset")
    assert urn.startswith("urn:li:dataset:(urn:li:dataPlatform:iceberg,")


def test_every_event_names_the_dataset_alike_whether_deleted_or_broken():
    broken = told(event(outputs=[{**PATH, "facets": {"symlinks": "<<non-serializable: x>>"}}]))
    assert broken.entities("dataset") == {PATH_URN}
    deleted = told(event(outputs=[{**PATH, "facets": {"symlinks": facet(identifiers=[GLUE], _deleted=True)}}]))
    assert deleted.entities("dataset") == {PATH_URN}


@pytest.mark.parametrize("body", [facet(identifiers=[]), facet(identifiers=None), facet()])
def test_an_empty_list_says_nothing(body):
    assert "symlinks" not in of_output("symlinks", body).kept(TOTALS)


def test_a_null_namespace_is_accepted():
    body = facet(identifiers=[{"namespace": None, "name": "x", "type": "TABLE"}])
    assert of_output("symlinks", body).kept(TOTALS)["symlinks"] == '[["TABLE","","x"]]'


def test_the_specification_s_document_is_read():
    kept = of_output("symlinks", spec("SymlinksDatasetFacet")["symlinks"]).kept(TOTALS)
    assert kept["symlinks"] == '[["TABLE","/tmp/alter_test","default.alter_table_test_new"]]'


def test_the_client_s_classes_are_read():
    made = symlinks_dataset.SymlinksDatasetFacet([symlinks_dataset.Identifier("hive://m", "a.b", "TABLE")])
    kept = told(client_pair(outputs={"symlinks": made})).kept(TOTALS)
    assert kept["symlinks"] == '[["TABLE","hive://m","a.b"]]'
