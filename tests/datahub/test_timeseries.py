from __future__ import annotations

from hashlib import md5

import pytest

from dh_bridge.datahub.timeseries import InvalidPointError, document_id, is_timeseries

URN = "urn:li:dataset:(urn:li:dataPlatform:x,a,PROD)"
WHOLE = {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"}
POINT = {"timestampMillis": 5, "messageId": "m", "partitionSpec": WHOLE}


def test_id_is_the_one_that_the_server_makes():
    """TimeseriesAspectTransformer.getDocId: time, granularity, URN, messageId and partition as JSON, one after another."""
    text = f'5"{URN}""m"' + '{"partition":"FULL_TABLE_SNAPSHOT"}'
    assert document_id(URN, POINT) == md5(text.encode(), usedforsecurity=False).digest()
    hourly = POINT | {"eventGranularity": {"unit": "HOUR", "multiple": 1}}
    text = r'5"{\"unit\":\"HOUR\",\"multiple\":1}"' + f'"{URN}""m"' + '{"partition":"FULL_TABLE_SNAPSHOT"}'
    assert document_id(URN, hourly) == md5(text.encode(), usedforsecurity=False).digest()


@pytest.mark.parametrize(
    "other",
    [
        {"timestampMillis": 6},
        {"messageId": "n"},
        {"messageId": None},
        {"partitionSpec": {"partition": "day=1", "type": "PARTITION"}},
        {"partitionSpec": None},
        {"partitionSpec": {"timePartition": {"startTimeMillis": 1, "length": {"unit": "DAY", "multiple": 1}}}},
        {"eventGranularity": {"unit": "HOUR", "multiple": 1}},
    ],
)
def test_document_id_depends_on_key_fields(other):
    assert document_id(URN, POINT | other) != document_id(URN, POINT)


@pytest.mark.parametrize(
    "same", [{"status": "COMPLETE"}, {"partitionSpec": WHOLE | {"type": "QUERY"}}, {"rowCount": 3}]
)
def test_document_id_ignores_other_fields(same):
    assert document_id(URN, POINT | same) == document_id(URN, POINT)


def test_another_entity_is_another_document():
    assert document_id(URN + "x", POINT) != document_id(URN, POINT)


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ({}, "requires timestampMillis"),
        ({"timestampMillis": "5"}, "requires timestampMillis"),
        ({"timestampMillis": True}, "requires timestampMillis"),
        ({"timestampMillis": 5, "partitionSpec": {}}, "neither"),
        ({"timestampMillis": 5, "partitionSpec": {"partition": "a", "timePartition": {}}}, "both"),
    ],
)
def test_invalid_timeseries_point_is_refused(point, reason):
    with pytest.raises(InvalidPointError, match=reason):
        document_id(URN, point)


@pytest.mark.parametrize("aspect", ["dataProcessInstanceRunEvent", "assertionRunEvent", "operation", "datasetProfile"])
def test_timeseries_aspects_are_recognised(aspect):
    assert is_timeseries(aspect)


@pytest.mark.parametrize(
    "aspect", ["datasetProperties", "dataJobInputOutput", "dataProcessInstanceProperties", "nothing"]
)
def test_versioned_aspects_are_not_timeseries(aspect):
    assert not is_timeseries(aspect)
