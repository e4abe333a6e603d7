"""What docs/coverage.md claims, row by row: events are translated, Python calls are made, and the value must be there.

A row of docs/coverage/*.yaml is about one name or several (``of``) and makes one claim about each:

* ``at: [aspect, path, value]`` alone: from OpenLineage. The events are those of ``EVENTS`` below; ``run``, ``job``,
  ``input`` and ``output`` add facets to them, ``check`` a check of the input, ``event`` overlays the last one.
* ``sdk`` and ``at``: from the SDK, by this call of ``dh_bridge.sdk``.
* ``never``: not at all, and why.

``profile`` is the version that writes it (0.15.0 unless said), ``urn`` the entity, ``settings`` what must be chosen,
``{it}`` in a text the last part of the name.
"""

from __future__ import annotations

import copy
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from support.public_data import NO_PAGES
from support.public_data import PAGES as SAVED_PAGES

from dh_bridge import Bridge, Settings, sdk
from dh_bridge.datahub.schemas import aspect_schema, named_types, profile_versions
from dh_bridge.sinks.memory import MemorySink
from dh_bridge.testing import find

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "docs" / "coverage").glob("*.yaml"))
PAGES = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES}
CLAIMS = ("of", "at", "sdk", "never", "note", "profile", "urn", "settings")
OVERLAYS = ("run", "job", "input", "output", "check", "event", "producer")
KEYS = {*CLAIMS, *OVERLAYS}

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
POSTGRES = "postgres://db:5432"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
START, END = ("START", "2026-11-20T01:00:00Z"), ("COMPLETE", "2026-11-20T01:00:30Z")
EVENTS = [
    {
        "eventType": kind,
        "eventTime": time,
        "producer": AIRFLOW,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "01938a9c-0000-7000-8000-000000000001", "facets": {}},
        "job": {"namespace": "shop", "name": "daily.load", "facets": {}},
        "inputs": [{"namespace": POSTGRES, "name": "shop.public.orders", "facets": {}}],
        "outputs": [{"namespace": POSTGRES, "name": "shop.public.totals", "facets": {}}],
    }
    for kind, time in (START, END)
]
RUN_ASPECTS = ("Input", "Output", "Properties", "Relationships", "RunEvent", "Key")
SCHEMAS = {
    "data_process_instance": [f"dataProcessInstance{name}" for name in RUN_ASPECTS],
    "assertion": ["assertionInfo", "assertionRunEvent", "assertionKey"],
}


def rows():
    for page, content in PAGES.items():
        for row in content["rows"]:
            for name in [row["of"]] if isinstance(row["of"], str) else row["of"]:
                yield page, name, row


def stated_parts(value, name):
    """Return a text of a row with the last part of the name in place of ``{it}``."""
    return value.replace("{it}", re.split(r"[. ]", name)[-1]) if isinstance(value, str) else value


def overlaid(old, new):
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: overlaid(old.get(key), new[key]) if key in new else old[key] for key in {**old, **new}}
    return copy.deepcopy(new)


def events(row, name):
    """Return the events of a row."""
    found = copy.deepcopy(EVENTS)
    for event in found:
        event["producer"] = row.get("producer", AIRFLOW)
        for part in ("run", "job"):
            event[part]["facets"] |= row.get(part, {})
        for side in ("input", "output"):
            event[f"{side}s"][0]["facets"] |= row.get(side, {})
        if "check" in row:
            event["inputs"][0]["facets"]["dataQualityAssertions"] = {"assertions": [{"success": True, **row["check"]}]}
    found[-1] = overlaid(found[-1], row.get("event", {}))
    return json.loads(stated_parts(json.dumps(found), name))


@cache
def bridge(profile, settings="{}"):
    return Bridge(Settings(datahub_version=profile, **json.loads(settings)))


def proposals_of_call(row, name):
    """Return the proposals that the row's call makes."""
    sink = MemorySink()
    known = {key: getattr(sdk, key) for key in sdk.__all__}
    pipeline = sdk.Pipeline(bridge(row.get("profile", "0.15.0")).options, sink=sink)
    call = compile(stated_parts(row["sdk"], name), "row", "exec")
    exec(call, {**known, "pipeline": pipeline, "ORDERS": ORDERS, "JOB": ("shop", "daily.load")})  # noqa: S102 - our own rows
    return sink.proposals


ALL = list(rows())
PROVEN = [pytest.param(page, name, row, id=f"{page}: {name}") for page, name, row in ALL if "at" in row]


@pytest.mark.parametrize(("page", "name", "row"), PROVEN)
def test_coverage_claims_match_the_proposals(page, name, row):
    if "sdk" in row:
        proposals = proposals_of_call(row, name)
    else:
        chosen = bridge(row.get("profile", "0.15.0"), json.dumps(row.get("settings", {})))
        translation = chosen.translate(events(row, name))
        assert (translation.dead, translation.rejected) == ([], []), page
        proposals = translation.proposals
    aspect, path, value = row["at"]
    found = find(
        proposals, aspect=aspect, urn=row.get("urn"), path=stated_parts(path, name), value=stated_parts(value, name)
    )
    assert found.aspect_name == aspect


def test_coverage_rows_make_one_claim_with_known_keys():
    for page, name, row in ALL:
        assert set(row) <= KEYS, (page, name)
        assert ("never" in row) is not ("at" in row), (page, name)
        assert not ("sdk" in row and any(key in row for key in OVERLAYS)), (page, name)
        assert len(row.get("never", "long enough as a reason")) > 20, (page, name)


@pytest.mark.parametrize("page", PAGES)
def test_no_name_has_two_rows(page):
    names = [name for where, name, _ in ALL if where == page]
    assert sorted(names) == sorted(set(names))


def stated(schema):
    """Yield ``Type.field`` and ``Enum.SYMBOL`` of a schema, and its relationships as ``Name -> entity``."""
    for full, node in named_types(schema).items():
        short = full.rpartition(".")[2]
        yield from (f"{short}.{symbol}" for symbol in node.get("symbols", ()))
        yield from (f"{short}.{field['name']}" for field in node.get("fields", ()))
        for field in node.get("fields", ()):
            marked = field.get("Relationship", {})
            for one in [marked] if "name" in marked else marked.values():
                yield from (f"{one['name']} -> {entity}" for entity in one["entityTypes"])


@pytest.mark.parametrize("page", SCHEMAS)
@pytest.mark.parametrize("version", [profile_versions()[0], profile_versions()[-1]])
def test_coverage_has_rows_for_all_of_the_bundled_schemas(page, version):
    listed = {name for where, name, _ in ALL if where == page}
    found = {name for aspect in SCHEMAS[page] for name in stated(aspect_schema(version, aspect))}
    assert len(found) > 50
    assert sorted(found - listed) == []


@pytest.mark.parametrize("page", SCHEMAS)
def test_coverage_has_rows_for_every_aspect_of_its_entity(page):
    names = {name for where, name, _ in ALL if where == page}
    listed = {name.partition(".")[0].lower() for name in names}
    keys = [aspect_schema(version, SCHEMAS[page][-1])["Aspect"]["entityAspects"] for version in profile_versions()]
    assert {aspect for key in keys for aspect in key if aspect.lower() not in listed} == set()


# -- the pages themselves ------------------------------------------------------------------------------------------------

DOCUMENTS = {
    "data_process_instance": "DataProcessInstance\n",
    "assertion": "Assertion\n",
    "data_rentgen": ".. _entities:",
    "google": "ProcessOpenLineageRunEvent",
}


def document(page):
    """Return the text of the page that a table is about, as it was collected."""
    found = [path.read_text(encoding="utf-8") for path in sorted(SAVED_PAGES.glob("*.txt"))]
    if not found:
        pytest.skip(NO_PAGES)
    return next(text for text in found if DOCUMENTS[page] in text[:600])


def schemas_of(text):
    """Yield the JSON schemas of a page of DataHub's documentation."""
    start = text.find("\nSchema\n")
    while start >= 0:
        schema, end = json.JSONDecoder().raw_decode(text, text.index("{", start))
        yield schema
        start = text.find("\nSchema\n", end)


@pytest.mark.parametrize("page", SCHEMAS)
def test_coverage_has_rows_for_all_of_the_datahub_page(page):
    listed = {name for where, name, _ in ALL if where == page}
    found = {name for schema in schemas_of(document(page)) for name in stated({"namespace": "", **schema})}
    assert len(found) > 60
    assert sorted(found - listed) == []


def rentgens(lines):
    """Yield ``Entity``, ``Entity.field`` and ``Entity.field SYMBOL`` of Data.Rentgen's page, from its lists of fields."""
    entity, field, fields = "", "", False
    for above, line in pairwise(lines):
        if line and set(line) <= {"~", "^"}:
            fields = False
            if "~" in line:
                entity = above.replace("Relation", "relation")
                yield entity
        fields = fields or line.startswith("It contains following fields")
        field_match = re.match(r"( *)- ``(\w+(?: user)?)", line) if fields else None
        if field_match and not field_match[1]:
            field = field_match[2]
            yield f"{entity}.{field}"
        elif field_match:
            yield f"{entity}.{field}" + (f" {field_match[2]}" if field_match[2].isupper() else f".{field_match[2]}")


def test_every_entity_and_field_of_data_rentgens_page_has_a_row():
    listed = {name for where, name, _ in ALL if where == "data_rentgen"}
    found = set(rentgens(document("data_rentgen").splitlines()))
    assert len(found) > 70
    assert sorted(found - listed) == []


def test_every_attribute_of_googles_table_has_a_row():
    listed = {name for where, name, _ in ALL if where == "google"}
    found = set(re.findall(r"^((?:Process|Run|LineageEvent)(?:\.\w+)+|requestId) ", document("google"), re.MULTILINE))
    assert len(found) == 15
    assert sorted(found - listed) == []
