"""Every way into a translation masks the texts of columns, which no facet masks again."""

from __future__ import annotations

import pytest
from support.sample_events import dataset, event, packed

from dh_bridge import Bridge, Settings, translate
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.masking import EventMasker, mask_bytes
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import Options
from dh_bridge.pipeline import RunAggregator
from dh_bridge.sinks.catalog import CatalogSink

SECRET = "hunter2"  # noqa: S105 - none
TEXT = f"copied with password={SECRET}"
FIELDS = [
    {"name": "a", "type": "int", "description": TEXT},
    {"name": "s", "type": "struct", "description": TEXT, "fields": [{"name": "b", "type": "int", "description": TEXT}]},
]
LINEAGE = {
    "fields": {
        "a": {
            "inputFields": [{
                "namespace": "postgres://db:5432", "name": "d.s.i", "field": "x",
                "transformations": [{"type": "DIRECT", "subtype": "IDENTITY", "description": TEXT}],
            }],
            "transformationDescription": TEXT,
            "transformationType": "IDENTITY",
        }
    }
}  # fmt: skip
EVENT = event(
    "COMPLETE",
    inputs=[dataset("d.s.i", facets={"schema": {"fields": [{"name": "x", "type": "int", "description": TEXT}]}})],
    outputs=[dataset("d.s.o", facets={"schema": {"fields": FIELDS}, "columnLineage": LINEAGE})],
)


def by_call(raw, settings):
    return [proposal.value for proposal in translate([raw], settings).proposals]


def by_report(raw, settings):
    translation = translate([raw], settings, report=True)
    return [*(proposal.value for proposal in translation.proposals), *translation.report.lines()]


def by_stream(raw, settings):
    return [p.value for part in Bridge(settings).stream([parse_event(raw)]) for p in part.proposals]


def by_fold(raw, settings):
    fold = RunAggregator(Options(settings))
    fold.add(parse_event(raw))
    return [proposal.value for proposals in fold.close_in_pieces() for proposal in proposals]


def by_ledger(raw, settings):
    with Catalog(":memory:") as file:
        translation, _ = Ledger(file, Options(settings, is_stateful=True), CatalogSink(file)).process_and_deliver(
            [parse_event(raw)]
        )
        return [proposal.value for proposal in translation.proposals]


@pytest.mark.parametrize("way", [by_call, by_report, by_stream, by_fold, by_ledger])
@pytest.mark.parametrize("where", ["job", "dataset", "both"])
def test_column_descriptions_are_masked_in_every_output(way, where):
    (raw,) = packed([EVENT])
    written = repr(way(raw, Settings(column_lineage={"target": where})))
    assert SECRET not in written
    assert "copied with password=***" in written
    assert SECRET in repr(way(raw, Settings(column_lineage={"target": where}, redaction="off")))


@pytest.mark.parametrize(
    "description",
    [
        '"password=hunter2"',
        r'"\u0070assword=hunter2"',
        r'"say \"hi\"\npassword=hunter2"',
        r'"\\", "comment": "password=hunter2"',
        '"' + "long " * 200 + 'password=hunter2"',
    ],
)
def test_secret_among_texts_that_were_clean_before_is_masked(description):
    masker = EventMasker(is_enabled=True)
    fields = '[{"name": "a", "type": "int", "description": %s}]'
    for text, is_secret in (('"of a"', False), (description, True), ('"of a"', False), (description, True)):
        schema = f'{{"_producer": "https://x", "_schemaURL": "https://y", "fields": {fields % text}}}'
        raw = packed([event("COMPLETE", outputs=[dataset("d.s.o", facets={"schema": {}})])])[0].replace(
            b'"schema": {}', b'"schema": ' + schema.encode()
        )
        assert schema.encode() in raw
        masked = masker.mask_event(parse_event(raw)).outputs[0].facets["schema"]
        assert (bytes(masked) == schema.encode()) is not is_secret
        assert b"hunter2" not in bytes(masked)


@pytest.mark.parametrize(
    "text",
    [
        '{"run": {"facets": {"a": {"password": "hunter2"}, "a": {}}}}',
        '{"x": [{"note": "password=hunter2", "note": "clean"}]}',
        '{"producer": "https://ann:hunter2@host", "producer": "https://host"}',
    ],
)
def test_secret_of_a_repeated_name_is_not_stored(text):
    assert b"hunter2" not in mask_bytes(text.encode())


@pytest.mark.parametrize("text", ['{"a": {"b": 1.0}, "b": [1, {"a": "\\u00e4"}]}', '{"a":1}', "[]", '{"a": 1e400}'])
def test_clean_bytes_are_unchanged(text):
    assert mask_bytes(text.encode()) == text.encode()
