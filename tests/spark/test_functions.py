"""SQL functions give the URNs that the translation writes, by the same settings."""

from __future__ import annotations

from support.sample_events import EXAMPLES

from dh_bridge import Bridge, Settings
from dh_bridge.openlineage.read import read_events
from dh_bridge.spark import functions

DATASET = "SELECT dataset_urn('postgres://db.example.com:5432', 'shop.public.orders') AS urn"


def test_functions_give_the_urns_of_the_translation(session):
    settings = Settings(datahub_version="1.7")
    functions.register(session, settings)
    events = list(read_events([EXAMPLES / "dbt.ndjson"]))
    jobs = [(event.namespace, event.name, event.producer, event.run_id) for event in events if event.run_id]
    rows = session.createDataFrame(jobs, "namespace string, name string, producer string, run_id string")
    found = rows.selectExpr(
        "job_urn(namespace, name, producer) AS job", "run_urn(namespace, name, run_id) AS run"
    ).collect()
    written = {proposal.entity_urn for proposal in Bridge(settings).translate(events).proposals}
    assert {row.run for row in found} <= written
    assert len({row.job for row in found} & written) > 1


def test_functions_follow_the_settings_and_return_null_for_null(session):
    functions.register(session, Settings(naming={"env": "DEV"}))
    assert session.sql(DATASET).first().urn == "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,DEV)"
    functions.register(session)
    assert session.sql(DATASET).first().urn == "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
    assert session.sql("SELECT dataset_urn(NULL, 'a') AS urn").first().urn is None
