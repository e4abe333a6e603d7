"""A version profile knows what a DataHub server of that line takes."""

from __future__ import annotations

import pytest

from dh_bridge.datahub.profiles import known_profiles, newest_profile, profile, server_profile
from dh_bridge.errors import SettingsError

# what the default profile writes, and what it may write when asked to.
DEFAULT = {
    "dataFlow": "dataFlowInfo ownership globalTags subTypes dataPlatformInstance",
    "dataJob": "dataJobInfo dataJobInputOutput ownership globalTags subTypes dataPlatformInstance",
    "dataProcessInstance": "dataProcessInstanceKey dataProcessInstanceProperties dataProcessInstanceRelationships"
    " dataProcessInstanceInput dataProcessInstanceOutput dataProcessInstanceRunEvent",
    "dataset": "datasetKey datasetProperties schemaMetadata editableSchemaMetadata upstreamLineage globalTags ownership subTypes"
    " dataPlatformInstance operation datasetProfile status siblings container browsePathsV2",
    "assertion": "assertionInfo dataPlatformInstance assertionRunEvent",
    "tag": "tagKey tagProperties",
    "container": "containerProperties subTypes dataPlatformInstance container browsePathsV2",
    "query": "queryProperties querySubjects dataPlatformInstance",
    "dataPlatformInstance": "dataPlatformInstanceProperties",
    "dataPlatform": "dataPlatformInfo",
    "schemaField": "schemaFieldKey",
    "corpuser": "corpUserKey",
}


@pytest.mark.parametrize("name", known_profiles())
@pytest.mark.parametrize("entity", DEFAULT)
def test_default_version_writes_aspects_known_in_every_version(name, entity):
    assert [aspect for aspect in DEFAULT[entity].split() if not profile(name).has_aspect(entity, aspect)] == []


@pytest.mark.parametrize(
    ("entity", "aspect", "since"),
    [
        ("dataProcessInstance", "dataPlatformInstance", "0.15.0.5"),
        ("dataProcessInstance", "subTypes", "0.15.0.5"),
        ("dataJob", "dataTransformLogic", "0.15.0.5"),
        ("dataFlow", "container", "0.15.0.5"),
        ("schemaField", "globalTags", "1.2"),
        ("dataJob", "documentation", "1.5"),
    ],
)
def test_aspect_is_known_from_its_first_version_on(entity, aspect, since):
    versions = known_profiles()
    assert [name for name in versions if profile(name).has_aspect(entity, aspect)] == list(
        versions[versions.index(since) :]
    )


@pytest.mark.parametrize("name", known_profiles())
@pytest.mark.parametrize("aspect", ["ownership", "globalTags", "domains"])
def test_run_has_no_owners_tags_or_domains_in_any_version(name, aspect):
    assert not profile(name).has_aspect("dataProcessInstance", aspect)


@pytest.mark.parametrize(
    ("aspect", "path", "since"),
    [
        ("dataProcessInstanceInput", "inputEdges", "1.0"),
        ("queryProperties", "customProperties", "1.0"),
        ("operation", "queries", "1.1"),
        ("ownership", "owners.attribution", "1.2"),
        ("assertionInfo", "note", "1.3"),
        ("assertionRunEvent", "result.severity", "1.5"),
        ("upstreamLineage", "fineGrainedLineages.matchType", "1.6"),
        ("assertionInfo", "customAssertion.operator", "1.7"),
    ],
)
def test_field_is_known_from_its_first_version_on(aspect, path, since):
    versions = known_profiles()
    assert [name for name in versions if profile(name).has_field(aspect, path)] == list(
        versions[versions.index(since) :]
    )


def test_field_of_an_unknown_aspect_is_unknown():
    assert not profile().has_field("noSuchAspect", "name")


def test_timeseries_aspects_differ_from_versioned_ones():
    series = {"assertionRunEvent", "dataProcessInstanceRunEvent", "datasetProfile", "operation"}
    written = {aspect for aspects in DEFAULT.values() for aspect in aspects.split()}
    assert {aspect for aspect in written if profile().is_timeseries(aspect)} == series
    assert not profile().is_timeseries("noSuchAspect")


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("0.15.0", "0.15.0"),
        ("0.15.0.4", "0.15.0"),
        ("0.15.0.6rc3", "0.15.0.5"),
        ("v1.0.0", "1.0"),
        ("1.3.1.7", "1.3"),
        ("1.5.0.6-SNAPSHOT", "1.5"),
        (" 1.7 ", "1.7"),
        ("v1.4.0.3", "1.4"),
        ("1.9.1", "1.7"),
    ],
)
def test_version_has_the_nearest_profile_that_is_not_above_it(server, name):
    assert profile(server).name == name
    assert server_profile(server).name == name


def test_server_newer_than_all_profiles_has_the_newest():
    assert server_profile("2.0.1") == profile()


@pytest.mark.parametrize("name", ["0.14.1", "head", "", "1", "1.x", "latest 1.3", "2.0", "3.1.4", "0.0.0"])
def test_unknown_datahub_version_error_lists_the_known_ones(name):
    with pytest.raises(
        SettingsError,
        match=r"datahub_version: unknown DataHub version .*use one of 0\.15\.0, 0\.15\.0\.5, 1\.0, .*1\.7",
    ):
        profile(name)


def test_default_profile_is_the_newest():
    assert profile() == profile("1.7")
    assert profile().name == newest_profile()


def test_profiles_compare_as_numbers():
    assert profile("0.15.0").version == (0, 15, 0)
    assert [profile(name).is_at_least(0, 15, 0, 5) for name in ("0.15.0", "0.15.0.5", "1.0")] == [False, True, True]
    assert not profile("1.3").is_at_least(1, 4)
    assert profile("0.15.0") == profile("0.15.0.1")
    assert profile("0.15.0") != profile("1.7")
