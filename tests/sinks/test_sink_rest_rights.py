"""Servers that have no time, tokens that expire during a run, and entities that may not be read."""

from __future__ import annotations

import pytest
from support.gms import Fault, Gms

from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.review.merging import MergingSink
from dh_bridge.review.state import ReviewState
from dh_bridge.sinks.base import SinkOptions, open_sink


def tags(number, start=0):
    return [
        upsert("tag", f"urn:li:tag:t{at}", "tagProperties", {"name": f"t{at}"}) for at in range(start, start + number)
    ]


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.7.0", token="t1") as server:  # noqa: S106 - none
        yield server


def opened(gms, **rest):
    return open_sink(f"rest:{gms.url}", SinkOptions(rest={"token": "t1", "retries": 2, **rest}))


@pytest.mark.parametrize(
    "body", [{"error": "DATABASE_TRANSACTION_CONFLICT"}, {"exceptionClass": "x", "message": "conflict"}]
)
def test_transaction_conflict_is_retried_after_retry_after(gms, naps, body):
    gms.faults = [Fault(503, {"Retry-After": "7"}, body)]
    with opened(gms) as sink:
        assert sink.emit(tags(3)).delivered_count == 3
    assert naps == [7.0]


def test_transaction_conflict_that_lasts_is_an_error_for_later(gms, naps):
    gms.faults = [Fault(503, {"Retry-After": "7"}, {"error": "DATABASE_TRANSACTION_CONFLICT"})] * 9
    with opened(gms) as sink, pytest.raises(SinkError, match="503: DATABASE_TRANSACTION_CONFLICT") as caught:
        sink.emit(tags(3))
    assert (naps, caught.value.retryable, caught.value.retry_after) == ([7.0, 7.0], True, 7.0)


def expiring(gms, after, token="t2"):  # noqa: S107 - none
    """Let the token expire as soon as ``after`` requests have written."""
    take = gms.take

    def taken(*stated):
        take(*stated)
        if len(gms.writes) == after:
            gms.token = token

    gms.take = taken


def test_expired_token_of_a_file_is_read_again(gms, tmp_path, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.batches.PROPOSALS_PER_REQUEST", 2)
    file = tmp_path / "token"
    file.write_text("t1")
    expiring(gms, 1)
    answered = gms.check_login

    def renewed_meanwhile(request):
        """Write the new token after the old one was sent."""
        if gms.token == "t2":  # noqa: S105 - none
            file.write_text("t2")
        answered(request)

    gms.check_login = renewed_meanwhile
    with opened(gms, token=None, token_file=str(file)) as sink:
        assert sink.emit(tags(6)).delivered_count == 6


@pytest.mark.parametrize(
    ("login", "named"),
    [({"token": "t1"}, r"DATAHUB_GMS_TOKEN or rest\.token"), ({"token": None}, r"\(rest\.token_file\)")],
)
def test_expired_token_names_its_setting_and_what_was_written(gms, tmp_path, login, named, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.batches.PROPOSALS_PER_REQUEST", 2)
    if login["token"] is None:
        (tmp_path / "token").write_text("t1")
        login["token_file"] = str(tmp_path / "token")
    expiring(gms, 2)
    with opened(gms, **login) as sink, pytest.raises(SinkError, match=named) as caught:
        sink.emit(tags(6))
    assert "HTTP 401" in str(caught.value)
    assert "4 of 6 proposals were written before" in str(caught.value)
    assert len(gms.proposals) == 4


@pytest.mark.parametrize("batches", [True, False])
def test_forbidden_entity_is_recorded_and_others_are_read(gms, batches):
    gms.batches = batches
    with opened(gms) as sink:
        sink.emit(tags(20))
        gms.forbidden = {"urn:li:tag:t3", "urn:li:tag:t17"}
        found = sink.read({f"urn:li:tag:t{at}": ["tagProperties"] for at in range(20)})
        assert set(found) == {f"urn:li:tag:t{at}" for at in range(20)} - gms.forbidden
        assert sink.forbidden_urns == gms.forbidden


def test_token_that_may_read_nothing_is_an_error(gms):
    gms.forbidden = {f"urn:li:tag:t{at}" for at in range(100)}
    with opened(gms) as sink, pytest.raises(SinkError, match=r"HTTP 403: .*unauthorized to GET entities"):
        sink.read({urn: ["tagProperties"] for urn in gms.forbidden})
    assert len(gms.requests) < 100


def test_review_compares_nothing_of_a_forbidden_entity(gms):
    with opened(gms) as sink:
        sink.emit(tags(3))
        gms.forbidden = {"urn:li:tag:t1"}
        with ReviewState(sink) as state:
            for _ in range(2):
                state.emit(tags(3))
            assert [change.urn for change in state.changes()] == ["urn:li:tag:t0", "urn:li:tag:t2"]
            assert (state.unreadable_urns, set(state.exists)) == ({"urn:li:tag:t1"}, {"urn:li:tag:t0", "urn:li:tag:t2"})


def test_aspect_that_may_not_be_read_is_not_overwritten(gms):
    urn = "urn:li:dataset:(urn:li:dataPlatform:s3,x,PROD)"
    schema = {"schemaName": "x", "platform": "urn:li:dataPlatform:s3", "version": 0, "hash": "", "fields": []}
    schema["platformSchema"] = {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}
    with opened(gms) as sink:
        gms.forbidden = {urn}
        merging = MergingSink(sink, join=False, keep_schemas=True, pipeline="dh_bridge")
        assert merging.emit([upsert("dataset", urn, "schemaMetadata", schema), *tags(1)]).delivered_count == 1
        assert merging.dropped_counts == {"not-readable": 1}
