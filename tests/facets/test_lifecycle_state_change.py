"""lifecycleStateChange (dataset): created, dropped, overwritten, renamed."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import lifecycle_state_change_dataset
from support.facet_cases import (
    JOB,
    ORDERS,
    TOTALS,
    client_pair,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    of_output,
    spec,
    totals,
    translate_events,
)
from support.sample_events import dataset


def change(word, **more):
    return {"lifecycleStateChange": facet(lifecycleStateChange=word, **more)}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("CREATE", "CREATE"),
        ("DROP", "DROP"),
        ("TRUNCATE", "DELETE"),
        ("ALTER", "ALTER"),
        ("RENAME", "ALTER"),
        ("OVERWRITE", "UPDATE"),
        ("overwrite", "UPDATE"),
        ("SOMETHING", "INSERT"),
    ],
)
def test_word_is_the_operation_and_kept_exactly(word, kind):
    found = of_output("lifecycleStateChange", facet(lifecycleStateChange=word))
    operation = found.one(TOTALS, "operation")
    assert operation["operationType"] == kind
    assert operation["customProperties"]["openlineage.lifecycleStateChange"] == word.upper()
    edge = found.patched(JOB, "dataJobInputOutput")[f"/outputDatasetEdges/{TOTALS}"]
    assert edge["properties"] == {"openlineage.lifecycleStateChange": word.upper()}
    assert found.has(TOTALS, "status") is (word == "DROP")


@pytest.mark.parametrize("word", ["TRUNCATE", "DROP"])
def test_lifecycle_of_a_job_event_is_on_the_edge_only(word):
    found = translate_events(job_event(outputs=[totals(facets=change(word))]))
    edge = found.patched(JOB, "dataJobInputOutput")[f"/outputDatasetEdges/{TOTALS}"]
    assert edge["properties"] == {"openlineage.lifecycleStateChange": word}
    assert not found.has(TOTALS, "status")
    assert not found.has(TOTALS, "operation")


def test_lifecycle_without_a_run_creates_no_operation():
    changed = change("CREATE")
    run, alone = event("COMPLETE", outputs=[totals()]), dataset_event(totals(facets=changed))
    path = "$.dataset.facets.lifecycleStateChange.lifecycleStateChange"
    assert translate_events([run, alone], report=True).outcomes()[path] == ("dropped", "no-field:no job")
    job = translate_events([run, job_event(outputs=[totals(facets=changed)])], report=True)
    assert job.outcomes()["$.outputs[0].facets.lifecycleStateChange.lifecycleStateChange"] == (
        "property",
        "dataJobInputOutput.outputDatasetEdges[].properties[openlineage.lifecycleStateChange]",
    )


def test_drop_removes_the_dataset_only_when_the_run_completes():
    def run(kind):
        return translate_events(event("START", outputs=[totals(facets=change("DROP"))]), event(kind))

    assert run("COMPLETE").one(TOTALS, "status") == {"removed": True}
    for kind in ("FAIL", "ABORT", "RUNNING"):
        assert not run(kind).has(TOTALS, "status")
    assert not translate_events(event("START", outputs=[totals(facets=change("DROP"))])).has(TOTALS, "status")


def sequence(*words):
    return [
        event(
            "START" if number == 0 else "RUNNING",
            outputs=[totals(facets=change(word))],
            time=f"2026-11-20T01:00:0{number}Z",
        )
        for number, word in enumerate(words)
    ] + [event()]


@pytest.mark.parametrize(
    ("words", "removed"),
    [
        (("DROP",), True),
        (("DROP", "CREATE"), False),
        (("DROP", "OVERWRITE"), False),
        (("CREATE", "DROP"), True),
        (("DROP", "ALTER"), True),
        (("DROP", "TRUNCATE"), True),
        (("DROP", "RENAME"), True),
        (("ALTER",), False),
    ],
)
def test_newest_of_drop_create_and_overwrite_decides(words, removed):
    """ALTER, RENAME and TRUNCATE take no part."""
    for order in (sequence(*words), sequence(*words)[::-1]):
        found = translate_events(order)
        assert [one.value for one in found.proposals if one.aspect_name == "status"] == [{"removed": True}] * removed


def test_dataset_event_drops_at_once_and_a_job_event_never():
    found = translate_events(dataset_event(totals(facets=change("DROP"))))
    assert found.one(TOTALS, "status") == {"removed": True}
    assert not found.has(TOTALS, "operation")
    declared = {**event(None, outputs=[totals(facets=change("DROP"))])}
    del declared["run"]
    assert not translate_events(declared).has(TOTALS, "status")


def test_nothing_is_removed_by_setting():
    found = translate_events(
        event("START", outputs=[totals(facets=change("DROP"))]), event(), lifecycle={"soft_delete": []}
    )
    assert not found.has(TOTALS, "status")


def test_lifecycle_of_an_input_is_on_the_edge_only():
    """As S3DeleteObjectsOperator, GCSDeleteObjectsOperator and BigQueryDeleteTableOperator report what they delete."""
    found = of_input("lifecycleStateChange", facet(lifecycleStateChange="DROP"), report=True)
    edge = found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{ORDERS}"]
    assert edge["properties"] == {"openlineage.lifecycleStateChange": "DROP"}
    assert not found.has(ORDERS, "status")
    assert not found.has(ORDERS, "operation")
    path = "$.inputs[0].facets.lifecycleStateChange.lifecycleStateChange"
    assert found.outcomes()[path] == (
        "property",
        "dataJobInputOutput.inputDatasetEdges[].properties[openlineage.lifecycleStateChange]",
    )


@pytest.mark.parametrize("kind", ["FAIL", "ABORT"])
def test_failed_run_has_an_operation_only_with_a_lifecycle_facet(kind):
    stated = translate_events(event("START", outputs=[totals(facets=change("TRUNCATE"))]), event(kind))
    assert stated.one(TOTALS, "operation")["operationType"] == "DELETE"
    silent = translate_events(event("START", outputs=[totals()]), event(kind))
    assert not silent.has(TOTALS, "operation")


def test_earlier_name_is_kept():
    body = facet(lifecycleStateChange="RENAME", previousIdentifier={"namespace": "file", "name": "/data/old"})
    found = of_output("lifecycleStateChange", body)
    identifier = '{"name":"/data/old","namespace":"file"}'
    assert found.properties(TOTALS)["previousIdentifier"] == identifier
    assert found.one(TOTALS, "operation")["customProperties"]["openlineage.previousIdentifier"] == identifier
    assert not found.has(TOTALS, "status")


def test_null_lifecycle_leaves_the_inferred_operation():
    found = of_output("lifecycleStateChange", facet(lifecycleStateChange=None))
    assert found.one(TOTALS, "operation")["customProperties"]["openlineage.operation.inferred"] == "true"


def test_specification_s_document_is_read():
    found = of_output("lifecycleStateChange", spec("LifecycleStateChangeDatasetFacet")["lifecycleStateChange"])
    assert found.one(TOTALS, "operation")["operationType"] == "ALTER"
    assert "alter_test/alter_table_test" in found.properties(TOTALS)["previousIdentifier"]


def test_client_s_class_is_read():
    word = lifecycle_state_change_dataset.LifecycleStateChange.OVERWRITE
    made = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(lifecycleStateChange=word)
    found = translate_events(client_pair(outputs={"lifecycleStateChange": made}))
    assert found.one(TOTALS, "operation")["operationType"] == "UPDATE"


def test_unknown_lifecycle_state_is_kept_as_property():
    found = of_output("lifecycleStateChange", facet(lifecycleStateChange="EXPLODE"), report=True)
    path = "$.outputs[0].facets.lifecycleStateChange.lifecycleStateChange"
    assert found.outcomes()[path] == ("property", "operation.customProperties[openlineage.lifecycleStateChange]")
    assert found.one(TOTALS, "operation")["customProperties"]["openlineage.lifecycleStateChange"] == "EXPLODE"


def renamed(path, table, before, namespace="hive://metastore:9083"):
    facets = {
        "lifecycleStateChange": facet(
            lifecycleStateChange="RENAME", previousIdentifier={"namespace": "file", "name": before}
        ),
        "symlinks": facet(identifiers=[{"namespace": namespace, "name": table, "type": "TABLE"}]),
    }
    return translate_events(
        [event("COMPLETE", outputs=[dataset(path, "file", facets=facets)])],
        lifecycle={"soft_delete": ["drop", "rename"]},
    )


@pytest.mark.parametrize(
    ("path", "table", "before", "gone"),
    [
        ("/lake/shop.db/sold", "shop.sold", "/lake/shop.db/orders", ("hive", "shop.orders")),
        ("/lake/shop.db/sold", "shop.sold", "/lake/old.db/orders", ("file", "/lake/old.db/orders")),
        ("/lake/s1", "shop.sold", "/lake/o1", ("file", "/lake/o1")),
        ("/lake/sold", "shop.sold", "/lake/", ("file", "/lake")),
    ],
)
def test_metastore_table_is_removed_with_its_renamed_folder(path, table, before, gone):
    platform, name = gone
    urn = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"
    assert renamed(path, table, before).one(urn, "status") == {"removed": True}


def test_folder_that_goes_by_its_path_was_one():
    found = renamed("/lake/shop.db/sold", "shop.sold", "/lake/shop.db/orders", namespace="file:/lake")
    urn = "urn:li:dataset:(urn:li:dataPlatform:file,/lake/shop.db/orders,PROD)"
    assert found.one(urn, "status") == {"removed": True}
