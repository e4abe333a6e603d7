"""The inspector: each field with its outcome, and the lines of aspects that it became; on golden cases."""

from __future__ import annotations

import json

import pytest

from dh_bridge.bridge import Bridge
from dh_bridge.console.inspector import inspect_events
from dh_bridge.console.parameters import RequestParameters
from dh_bridge.console.routes import ROUTES
from dh_bridge.errors import EventError

TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
RUN_ID = "01941b29-7e3a-7c5e-9f43-0d6f3a1c2b11"
NAMESPACE = "postgres://db.example.com:5432"
FACET = r'"{\"amount\":1.25,\"token\":\"[REDACTED]\"}"'
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-11-01T10:00:00Z",
    "producer": "https://example.com/tool",
    "run": {"runId": RUN_ID, "facets": {"acme_cost": {"amount": 1.25, "token": "AKIAIOSFODNN7EXAMPLE"}}},
    "job": {"namespace": "prod", "name": "shop.load", "facets": {"sql": {"query": "select 1", "dialect": ""}}},
    "outputs": [
        {
            "namespace": NAMESPACE,
            "name": "shop.public.orders",
            "facets": {
                "schema": {
                    "_producer": "https://example.com/tool",
                    "fields": [
                        {"name": "id", "type": "bigint", "description": "Number of the order."},
                        {"name": "customer_id", "type": "bigint"},
                    ],
                }
            },
        }
    ],
}


def inspect(document):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return inspect_events(Bridge(), body)


def texts_by_line(inspection):
    texts = {}
    for item in inspection.entities:
        texts[item.title_line] = (item.entity.urn, "", "")
        for aspect in item.aspects:
            for offset, line in enumerate(aspect.lines):
                texts[aspect.first_line + offset] = (item.entity.urn, f"{aspect.name}.{line.key}", line.text)
    return texts


@pytest.fixture(scope="module")
def inspection():
    return inspect(EVENT)


@pytest.fixture(scope="module")
def became(inspection):
    """Return a function: the values of DataHub that a field became."""
    texts = texts_by_line(inspection)
    fields = {field.path: field for field in inspection.events[0].fields}
    return lambda path: [texts[line] for line in fields[path].links]


def test_every_field_is_on_a_line_of_its_own(inspection):
    (event,) = inspection.events
    lines = [field.line for field in event.fields]
    assert len(set(lines)) == len(lines)
    shown = {field.path: event.lines[field.line - event.first_line] for field in event.fields}
    assert shown["$.eventType"].text == '"COMPLETE"'
    assert shown["$.outputs[0].facets.schema.fields[1].name"].text == '"customer_id"'
    assert len(shown) == sum(line.is_value for line in event.lines)


def test_no_line_has_two_numbers(inspection):
    numbers = [
        aspect.first_line + offset
        for item in inspection.entities
        for aspect in item.aspects
        for offset in range(len(aspect.lines))
    ]
    numbers += [item.title_line for item in inspection.entities]
    (event,) = inspection.events
    numbers += [event.first_line + offset for offset in range(len(event.lines))]
    assert sorted(numbers) == list(range(len(numbers)))


@pytest.mark.parametrize(
    ("path", "key", "text"),
    [
        ("$.eventType", "dataProcessInstanceRunEvent.status", '"COMPLETE"'),
        ("$.outputs[0].facets.schema.fields[0].name", "schemaMetadata.fieldPath", '"id"'),
        ("$.outputs[0].facets.schema.fields[1].name", "schemaMetadata.fieldPath", '"customer_id"'),
        ("$.outputs[0].facets.schema.fields[0].description", "schemaMetadata.description", '"Number of the order."'),
        ("$.run.facets.acme_cost.amount", "dataProcessInstanceProperties.openlineage.facet.acme_cost", FACET),
        ("$.job.facets.sql.query", "dataTransformLogic.value", '"select 1"'),
    ],
)
def test_field_leads_to_the_value_that_it_became(became, path, key, text):
    assert [link[1:] for link in became(path)] == [(key, text)]


def test_type_of_a_column_leads_to_the_column_at_its_position(became, inspection):
    first = became("$.outputs[0].facets.schema.fields[0].type")
    assert (
        first
        == became("$.outputs[0].facets.schema.fields[1].type")
        == [(TABLE, "schemaMetadata.nativeDataType", '"bigint"')]
    )
    fields = {field.path: field for field in inspection.events[0].fields}
    lines = [fields[f"$.outputs[0].facets.schema.fields[{position}].type"].links for position in (0, 1)]
    assert lines[0] != lines[1]


def test_id_of_a_run_leads_to_its_entity(became):
    assert became("$.run.runId") == [(f"urn:li:dataProcessInstance:{RUN_ID}", "", "")]


def test_dropped_fields_have_a_reason_with_its_meaning(inspection):
    fields = {field.path: field for field in inspection.events[0].fields}
    producer = fields["$.outputs[0].facets.schema._producer"]
    assert (producer.outcome, producer.reason, producer.is_loss) == ("dropped", "envelope", False)
    assert producer.meaning.startswith("The field describes the facet itself")
    assert fields["$.job.facets.sql.dialect"].reason == "empty"


def test_secrets_are_masked_before_they_are_shown(inspection):
    shown = "".join(line.text for line in inspection.events[0].lines)
    assert "AKIAIOSFODNN7EXAMPLE" not in shown
    fields = {field.path: field for field in inspection.events[0].fields}
    assert fields["$.run.facets.acme_cost.token"].reason == "secret"


def test_several_events_are_translated_together():
    start = EVENT | {"eventType": "START", "eventTime": "2026-11-01T09:00:00Z"}
    both = inspect([start, EVENT])
    assert [event.type for event in both.events] == ["START", "COMPLETE"]
    lines = inspect("\n".join(map(json.dumps, [start, EVENT])).encode())
    assert [event.type for event in lines.events] == ["START", "COMPLETE"]
    assert all(event.fields for event in both.events)


def test_unusable_events_are_listed_with_the_reason():
    mixed = inspect([EVENT, {"eventType": "START"}])
    assert len(mixed.events) == 1
    (unusable,) = mixed.unusable
    assert unusable.location == "event[1]"
    assert unusable.reason
    assert inspect(b"no json").unusable


def test_filtered_event_has_the_rule():
    bridge = Bridge({"filters": {"jobs": ["!shop.*"]}})
    filtered = inspect_events(bridge, json.dumps(EVENT).encode())
    assert filtered.entities == []
    assert sum(filtered.filtered.values()) == 1


def test_too_many_events_and_none_are_rejected():
    with pytest.raises(ValueError, match="paste the JSON"):
        inspect(b"  ")
    with pytest.raises(EventError, match="50"):
        inspect([EVENT] * 51)


def test_deep_json_is_shown_to_a_limit():
    deep = EVENT | {"run": {"runId": RUN_ID, "facets": {"deep": json.loads("[" * 300 + "1" + "]" * 300)}}}
    assert inspect(deep).events[0].fields


def test_examples_can_be_inspected(demo):
    examples = ROUTES["examples"].answer(demo, RequestParameters({})).examples
    assert {example.file for example in examples} >= {"dbt", "spark", "client"}
    chosen = examples[len(examples) // 2]
    query = {"file": chosen.file, "position": str(chosen.position)}
    text = ROUTES["example"].answer(demo, RequestParameters(query)).text
    assert inspect(text.encode()).events
    with pytest.raises(ValueError, match="no example"):
        ROUTES["example"].answer(demo, RequestParameters({"file": "none", "position": "0"}))


@pytest.mark.slow
def test_every_written_field_of_every_example_leads_to_a_value(demo):
    examples = ROUTES["examples"].answer(demo, RequestParameters({})).examples
    assert len(examples) > 80
    unlinked = []
    for example in examples:
        query = {"file": example.file, "position": str(example.position)}
        result = inspect(ROUTES["example"].answer(demo, RequestParameters(query)).text.encode())
        unlinked += [
            (example.file, example.position, field.path)
            for field in result.events[0].fields
            if field.outcome != "dropped" and not field.links
        ]
    assert unlinked == []
