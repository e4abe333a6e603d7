"""What a server refuses after it was taken (Kafka): a dead letter if it is the ledger's last word, else nothing to do."""

from __future__ import annotations

import pytest

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.sent import SentFingerprints

JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load)"
RUN = "urn:li:dataProcessInstance:1"


@pytest.fixture
def file():
    with Catalog(":memory:") as found:
        yield found


@pytest.fixture
def sent(file):
    return SentFingerprints(file.connection)


def status(*, removed):
    return upsert("dataJob", JOB, "status", {"removed": removed})


def point(state):
    return upsert("dataProcessInstance", RUN, "dataProcessInstanceRunEvent", {"timestampMillis": 1, "status": state})


def named(*paths, value="x", op="add"):
    stated = {} if op == "remove" else {"value": value}
    return patch("dataJob", JOB, "dataJobInfo", [{"op": op, "path": path, **stated} for path in paths])


@pytest.mark.parametrize(
    ("first", "newer"),
    [
        (status(removed=False), status(removed=True)),
        (point("STARTED"), point("COMPLETE")),
        (named("/name", "/description"), named("/name", "/description", value="y")),
    ],
    ids=["whole", "point", "patch"],
)
def test_fingerprint_matches_only_the_latest_proposal(sent, first, newer):
    assert not sent.is_last_sent(first)
    sent.select_changed([first], 1)
    assert sent.is_last_sent(first)
    sent.select_changed([newer], 2)
    assert not sent.is_last_sent(first)
    assert sent.is_last_sent(newer)
    sent.mark_unsent(newer)
    assert not sent.is_last_sent(newer)


def test_fingerprint_of_a_patch_is_of_the_part_sent(sent):
    (whole,) = sent.select_changed([named("/customProperties/a", "/customProperties/b")], 1)
    (part,) = sent.select_changed([named("/customProperties/a")], 2)  # b is taken back
    assert [one["op"] for one in part.value] == ["remove"]
    assert sent.is_last_sent(part)
    assert not sent.is_last_sent(whole)


def operations(proposals):
    return [[(one["op"], one["path"]) for one in proposal.value] for proposal in proposals]


def test_refused_patch_removal_is_retried_once_and_alone(sent):
    a, b = "/customProperties/a", "/customProperties/b"
    sent.select_changed([named(a, b)], 1)
    (refused,) = sent.select_changed([named(a, value="y")], 2)
    sent.mark_unsent(refused)
    found = sent.select_changed([named(a, value="y")], 3)
    assert operations(found) == [[("add", a)], [("remove", b)]]
    assert all(map(sent.is_last_sent, found))
    sent.mark_unsent(found[1])  # it is not there: nobody asks again
    assert operations(sent.select_changed([named(a, value="z")], 4)) == [[("add", a)]]


def test_refused_patch_addition_comes_with_the_next_change(sent):
    a, b, c = (f"/customProperties/{name}" for name in "abc")
    sent.select_changed([named(a, b)], 1)
    (refused,) = sent.select_changed([named(a, b, c)], 2)
    assert operations([refused]) == [[("add", c)]]
    sent.mark_unsent(refused)
    assert operations(sent.select_changed([named(a, b, c)], 3)) == [[("add", c)]]


def test_refused_aspect_is_emptied_when_no_longer_rendered(sent):
    """What was there before it is still there, and a dead letter gives way to what empties it."""
    stated = upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", {"inputs": ["a", "b"]})
    sent.select_changed([stated, point("STARTED")], 1, complete_urns=[RUN])
    sent.mark_unsent(stated)
    assert sent.select_changed([stated, point("STARTED")], 2, complete_urns=[RUN]) == [stated]
    sent.mark_unsent(stated)
    (emptied,) = sent.select_changed([point("STARTED")], 3, complete_urns=[RUN])
    assert (emptied.aspect_name, emptied.value) == ("dataProcessInstanceInput", {"inputs": []})
    assert sent.select_changed([point("STARTED")], 4, complete_urns=[RUN]) == []


def test_retried_proposal_counts_as_sent_unless_superseded(sent):
    older, newer = status(removed=False), status(removed=True)
    sent.select_changed([older], 1)
    sent.mark_unsent(older)
    sent.mark_sent(older, 1)
    assert sent.is_last_sent(older)
    sent.select_changed([newer], 2)
    sent.mark_sent(older, 1)
    assert sent.is_last_sent(newer)


def test_dead_letter_is_not_queued_until_retried(file):
    outbox = Outbox(file.connection)
    outbox.add_dead_letter(status(removed=False), "ValidationException", 7)
    assert outbox.count() == (0, 1)
    assert outbox.list_queued() == []
    assert [(one.reason, one.queued_at, one.is_dead) for one in outbox.list_queued(is_dead=True)] == [
        ("ValidationException", 7, True)
    ]
    outbox.retry_dead()
    assert [one.proposal for one in outbox.list_queued()] == [status(removed=False)]
