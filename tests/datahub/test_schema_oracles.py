"""fastavro, Apache avro and acryl-datahub judge random and spoilt aspects as we do, but for the listed differences."""

from __future__ import annotations

import math

import pytest
from support.oracles import (
    URNS,
    apache_finding,
    disagreement,
    fastavro_finding,
    our_finding,
    sdk_finding,
    with_defaults,
)
from support.random_aspects import CASES, Maker, dice, spoilt

from dh_bridge.datahub import schemas, validation
from dh_bridge.datahub.profiles import known_profiles, profile

REFUSED = ("refuse", "refuse", "refuse")


def listed_differences():
    """Read the table in the docstring of the validation module: case -> (we, fastavro, Apache)."""
    table = validation.__doc__.split("reason\n")[1].split("\n\n")[0]
    rows = [line for line in table.splitlines() if line and not line.startswith("=")]
    return {line[:27].strip(): tuple(line[27:].split()[:3]) for line in rows}


def distinct_schemas():
    """Yield (file, aspect, profile, entity type) once for each schema file."""
    seen = set()
    for name in known_profiles():
        known = profile(name)
        for aspect, file in schemas.load_index(name).aspects.items():
            if file not in seen:
                seen.add(file)
                entity = next(entity for entity in URNS if known.has_aspect(entity, aspect))
                yield pytest.param(file, aspect, known, entity, id=file)


each_schema = pytest.mark.parametrize(("file", "aspect", "known", "entity"), list(distinct_schemas()))


@each_schema
def test_random_aspect_is_accepted_by_all_validators_unchanged(file, aspect, known, entity):
    for seed in range(3):
        maker = Maker(schemas.load_schema(file), dice(f"{file} {seed}"), full=seed == 0)
        value = with_defaults(schemas.load_schema(file), maker.aspect())
        assert disagreement(entity, aspect, value, known) == {}


@each_schema
def test_aspect_without_its_defaults_is_accepted_too(file, aspect, known, entity):
    value = Maker(schemas.load_schema(file), dice(file)).aspect()
    for ask in (our_finding, fastavro_finding, apache_finding):
        assert ask(entity, aspect, value, known) is None
    assert sdk_finding(entity, aspect, value, known, exact=False) is None


@each_schema
def test_corrupted_aspect_is_rejected_except_listed_differences(file, aspect, known, entity):
    differences = listed_differences()
    chance = dice(f"spoil {file}")
    maker = Maker(schemas.load_schema(file), chance, full=True)
    value = maker.aspect()
    judged = {}
    for case in CASES:
        bad = spoilt(maker, value, case, chance)
        if bad is not None:
            findings = (ask(entity, aspect, bad, known) for ask in (our_finding, fastavro_finding, apache_finding))
            judged[case] = tuple("accept" if finding is None else "refuse" for finding in findings)
    assert judged == {case: differences.get(case, REFUSED) for case in judged}


def test_corruption_cases_are_all_exercised():
    found = set()
    for aspect in ("schemaMetadata", "dataProcessInstanceRunEvent", "structuredProperties", "assertionRunEvent"):
        maker = Maker(schemas.aspect_schema("1.7", aspect), dice(1), full=True)
        values = [maker.aspect() for _ in range(5)]
        found |= {case for case in CASES for value in values if spoilt(maker, value, case, dice(1)) is not None}
    assert found == set(CASES)
    assert set(listed_differences()) <= set(CASES)


def test_sdk_changes_the_tag_of_an_enum_and_nothing_else():
    known = profile("1.7")
    job = {"customProperties": {}, "name": "load", "type": {"com.linkedin.datajob.azkaban.AzkabanJobType": "SQL"}}
    assert [ask("dataJob", "dataJobInfo", job, known) for ask in (our_finding, fastavro_finding, apache_finding)] == [
        None
    ] * 3
    assert "'type': {'string': 'SQL'}" in sdk_finding("dataJob", "dataJobInfo", job, known)
    assert disagreement("dataJob", "dataJobInfo", job | {"type": {"string": "SQL"}}, known) == {}


def test_aspects_of_newer_servers_are_no_sdk_difference():
    stamp = {"time": 0, "actor": URNS["corpuser"]}
    query = {
        "statement": {"value": "select 1", "language": "SQL"},
        "source": "SYSTEM",
        "created": stamp,
        "lastModified": stamp,
    }
    assert disagreement("query", "queryProperties", query, profile("0.15.0")) == {}
    assert set(disagreement("query", "queryProperties", query, profile("1.0"))) == {"acryl-datahub"}
    assert disagreement("query", "queryProperties", {"customProperties": {}} | query, profile("1.0")) == {}


def test_disagreement_names_the_rejecting_validators():
    event = {"timestampMillis": 1, "partitionSpec": {"partition": "p", "type": "FULL_TABLE"}, "status": "STARTED"}
    known = profile()
    assert disagreement("dataProcessInstance", "dataProcessInstanceRunEvent", event, known) == {}
    failed = disagreement(
        "dataset",
        "datasetProfile",
        {"timestampMillis": 1, "fieldProfiles": [{"fieldPath": "a", "uniqueProportion": math.nan}]},
        known,
    )
    assert set(failed) == {"we", "acryl-datahub"}
