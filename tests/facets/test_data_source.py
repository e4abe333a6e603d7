"""dataSource (dataset): the connection; it also completes names that lack their database."""

from __future__ import annotations

from openlineage.client.facet_v2 import datasource_dataset
from support.facet_cases import GX, TOTALS, client_pair, event, facet, of_output, spec, translate_events


def test_name_and_uri_are_kept_without_credentials():
    found = of_output("dataSource", facet(name="db", uri="postgresql://ann:secret@db:5432/shop?sslmode=x&password=p"))
    properties = found.properties(TOTALS)
    assert properties["dataSource.name"] == "db"
    assert properties["dataSource.uri"] == "postgresql://ann:***@db:5432/shop?sslmode=x&password=***"
    assert "/externalUrl" not in found.patched(TOTALS, "datasetProperties")


def expectation(namespace, name, uri):
    dataset = {"namespace": namespace, "name": name, "facets": {"dataSource": facet(name="x", uri=uri)}}
    return translate_events(event(inputs=[dataset], producer=GX)).entities("dataset")


def test_database_name_is_read_from_a_uri_of_the_same_host():
    urn = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.app.orders,PROD)"
    here = "postgresql+psycopg2://localhost"
    assert expectation(here, "app.orders", "postgresql+psycopg2://localhost:55433/shop") == {urn}
    assert expectation(here, "app.orders", "postgresql+psycopg2://localhost/shop") == {urn}


def test_another_host_or_no_database_completes_nothing():
    here = "postgresql+psycopg2://localhost"
    bare = expectation(here, "app.orders", "")
    for uri in ("postgresql://elsewhere/shop", "postgresql://localhost", "no uri", "postgresql://[::1/shop", "x://"):
        assert expectation(here, "app.orders", uri) == bare


def test_specification_s_document_is_read():
    properties = of_output("dataSource", spec("DatasourceDatasetFacet")["dataSource"]).properties(TOTALS)
    assert properties["dataSource.name"] == "datasource_one"
    assert properties["dataSource.uri"] == "https://some.location.com/datsource/one"


def test_client_s_class_is_read():
    made = datasource_dataset.DatasourceDatasetFacet(name="db", uri="postgres://db:5432")
    properties = translate_events(client_pair(outputs={"dataSource": made})).properties(TOTALS)
    assert (properties["dataSource.name"], properties["dataSource.uri"]) == ("db", "postgres://db:5432")
