"""What is compiled of settings goes when its bridge goes: nothing at module level holds it."""

from __future__ import annotations

import gc
import weakref

import pytest
from support.sample_events import dataset, event, lines, one, packed

from dh_bridge.bridge import Bridge
from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings

SOURCE = {"namespace": "postgres://db:5432", "name": "shop.public.orders", "field": "id"}
LINEAGE = {
    "fields": {"id": {"inputFields": [{**SOURCE, "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}]}}
}
SCHEMA = {"fields": [{"name": "id", "type": "int"}]}
RUN = packed(
    event(
        kind,
        inputs=[dataset("shop.public.orders")],
        outputs=[dataset("shop.public.totals", facets={"columnLineage": LINEAGE, "schema": SCHEMA})],
    )
    for kind in ("START", "COMPLETE")
)


@pytest.mark.parametrize(
    "settings",
    [{"schema": {"types": {"int": "NumberType"}}}, {"column_lineage": {"target": "both", "indirect": "drop"}}],
)
def test_bridge_for_each_request_leaves_nothing_behind(settings):
    alive = []
    for _ in range(50):
        bridge = Bridge(Settings(**settings))
        alive += [weakref.ref(bridge.options), weakref.ref(bridge.options.tables.column_types)]
        for raw in RUN:
            assert lines(bridge.translate(raw))
    del bridge
    gc.collect()
    assert len({id(found) for one in alive if (found := one()) is not None}) <= 4


def test_facet_cache_is_separate_for_each_bridge():
    on_job, on_dataset = (Bridge(Settings(column_lineage={"target": target})) for target in ("job", "dataset"))
    first = [lines(bridge.translate(RUN)) for bridge in (on_job, on_dataset)]
    assert first[0] != first[1]
    for _ in range(3):
        assert [lines(bridge.translate(RUN)) for bridge in (on_job, on_dataset)] == first


def test_column_lineage_cache_is_bounded_in_bytes():
    bridge = Bridge()
    for number in range(80):
        stray = {"fields": {str(number).ljust(200_000, "x"): {"inputFields": [SOURCE]}}}
        outputs = [dataset("shop.public.totals", facets={"schema": SCHEMA, "columnLineage": stray})]
        (raw,) = packed([event("COMPLETE", outputs=outputs)])
        for _ in range(4):
            assert lines(bridge.translate(raw))
    memory = bridge.options.column_lineage_cache
    assert 20 < len(memory._young) + len(memory._old) < 2 * 30  # each holds 1.2 MB, a generation 32 MiB


@pytest.mark.parametrize(("profile", "env"), [("1.0", None), ("1.1", "PRD")])
def test_unsupported_environment_is_left_out_of_flows_and_jobs(profile, env):
    found = Bridge({"datahub_version": profile}).translate(event("COMPLETE", namespace="prd", job="etl.load"))
    assert found.rejected == []
    for aspect in ("dataFlowInfo", "dataJobInfo"):
        stated = {operation["path"]: operation["value"] for operation in one(found, aspect)}
        assert stated.get("/env") == env


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"naming.env": "prd"}, "naming.env"),
        ({"naming.rules": [{"namespace": "s3://a"}, {"namespace": "s3://b", "env": "TST"}]}, r"naming.rules\[1\].env"),
    ],
)
def test_unsupported_dataset_environment_is_refused(settings, where):
    with pytest.raises(SettingsError, match=rf"^{where}: DataHub 1.0 has no environment "):
        Bridge({**settings, "datahub_version": "1.0"})
    assert lines(Bridge(settings).translate(event()))
