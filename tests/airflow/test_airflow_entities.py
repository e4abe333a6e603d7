"""Inlets and outlets that are DataHub's own entities: the lineage of the task names exactly their URNs."""

from __future__ import annotations

import logging
import re

import pytest
from datahub.emitter.mce_builder import make_dataset_urn_with_platform_instance
from datahub.metadata.urns import DatasetUrn
from support.airflow_contexts import VERSIONS, airflow3

from dh_bridge.airflow import emit_on_success
from dh_bridge.airflow.entities import URN_NAMESPACE, map_urns
from dh_bridge.bundled import mapping_files
from dh_bridge.settings import Settings

JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,shop-airflow),shop.load)"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,prod.SHOP.Public.Orders,PROD)"
RAW = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/raw/orders,PROD)"
MART = "urn:li:dataset:(urn:li:dataPlatform:acme,A mart%2C of %28ours%29,DEV)"


class Dataset:
    """As ``datahub_airflow_plugin.entities.Dataset``."""

    def __init__(self, platform, name, env="PROD", platform_instance=None):
        self.platform, self.name, self.env, self.platform_instance = platform, name, env, platform_instance

    @property
    def urn(self):
        return make_dataset_urn_with_platform_instance(self.platform, self.name, self.platform_instance, self.env)


class Urn:
    """As ``datahub_airflow_plugin.entities.Urn``."""

    def __init__(self, urn):
        self.urn = urn


@pytest.mark.parametrize("context", VERSIONS.values(), ids=VERSIONS)
def test_entities_of_datahub_are_lineage_under_their_own_urns(context, shop):
    inlets = [Dataset("snowflake", "SHOP.Public.Orders", platform_instance="prod"), Urn(RAW), Urn(RAW)]
    emit_on_success(context(operator={"inlets": inlets, "outlets": [MART, DatasetUrn.from_string(ORDERS)]}))
    with shop() as catalog:
        edges = catalog.aspects(JOB)["dataJobInputOutput"]
        assert [one["destinationUrn"] for one in edges["inputDatasetEdges"]] == [RAW, ORDERS]
        assert {one["destinationUrn"] for one in edges["outputDatasetEdges"]} == {MART, ORDERS}


def test_non_dataset_urns_are_logged_and_other_inlets_kept(shop, caplog):
    caplog.set_level(logging.INFO, "dh_bridge.airflow")
    other = "urn:li:dataJob:(urn:li:dataFlow:(airflow,other,PROD),x)"
    nowhere = "urn:li:dataset:(urn:li:dataPlatform:snowflake,a.b.c,NOWHERE)"
    emit_on_success(airflow3(operator={"inlets": [Urn(other), nowhere, ORDERS]}))
    assert caplog.messages[0].endswith(f"that are not OpenLineage datasets: {other}, {nowhere}")
    with shop() as catalog:
        (edge,) = catalog.aspects(JOB)["dataJobInputOutput"]["inputDatasetEdges"]
        assert edge["destinationUrn"] == ORDERS


def events_with(*urns):
    return [{"inputs": [{"namespace": URN_NAMESPACE, "name": urn} for urn in urns], "outputs": []}]


def test_without_urns_settings_and_events_stay_as_they_are():
    events, settings = [{"inputs": [{"namespace": "s3://lake", "name": "x"}], "outputs": []}], Settings()
    assert map_urns(events, settings) == (settings, [])
    assert events[0]["inputs"] == [{"namespace": "s3://lake", "name": "x"}]


def test_user_naming_rules_precede_generated_urn_rules():
    rules = [{"namespace": "postgres://db", "env": "DEV"}]
    settings, _ = map_urns(events_with(ORDERS), Settings.model_validate({"naming": {"rules": rules}}))
    assert [rule.namespace for rule in settings.naming.rules] == ["postgres://db", "urn:li:dataPlatform:snowflake,PROD"]


def test_dataset_urns_of_most_platforms_round_trip():
    """Some platforms have names that depend on what only their namespace says; these are left out, and named."""
    urns = sorted({urn for sheet in sheets() for urn in re.findall(r"urn: '(urn:li:dataset:[^']+)'", sheet)})
    events = events_with(*urns)
    _, lost = map_urns(events, Settings())
    platforms = {urn.split(",")[0].rpartition(":")[2] for urn in lost}
    assert platforms == {"dremio"}
    assert len(events[0]["inputs"]) == len(urns) - len(lost) > 100


def sheets():
    return [path.read_text(encoding="utf-8") for path in mapping_files("naming")]
