"""A remembered proposal is a proposal like any other: equal, serialised and checked alike."""

from __future__ import annotations

import copy
import pickle

import msgspec
import pytest

from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import CachedProposal, ndjson_line, upsert
from dh_bridge.datahub.validation import validator

URN = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
GONE = upsert("dataset", URN, "status", {"removed": True})
HERE = upsert("dataset", URN, "status", {"removed": False})
WRONG = upsert("dataset", URN, "status", {"removed": "yes"})


def test_cached_proposal_equals_only_the_same_proposal():
    remembered = CachedProposal.of(GONE)
    for same in (GONE, CachedProposal.of(GONE)):
        assert [remembered == same, same == remembered] == [True, True]
        assert [remembered != same, same != remembered] == [False, False]
    for other in (HERE, CachedProposal.of(HERE), GONE.entity_urn):
        assert [remembered == other, other == remembered] == [False, False]


@pytest.mark.parametrize("copied", [lambda one: one, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
def test_cached_proposal_and_its_copy_serialise_identically(copied):
    remembered = CachedProposal.of(GONE)
    assert remembered.line == ndjson_line(GONE)
    assert ndjson_line(copied(remembered)) == ndjson_line(GONE)
    assert msgspec.json.encode(copied(remembered)) == msgspec.json.encode(GONE)


def test_cached_proposal_has_the_same_repr():
    assert repr(CachedProposal.of(GONE)) == repr(GONE)


def test_cached_invalid_proposal_is_refused_each_time():
    check = validator(profile("0.15.0"))
    wrong, sound = CachedProposal.of(WRONG), CachedProposal.of(GONE)
    assert [check.refusal_text(wrong) is None for _ in range(2)] == [False, False]
    assert [check.refusal_text(sound) for _ in range(2)] == [None, None]
    assert [check.accepts_all([CachedProposal.of(GONE), wrong]) for _ in range(2)] == [False, False]


def test_cached_proposal_is_validated_per_version():
    newer = CachedProposal.of(
        upsert("dataJob", "urn:li:dataJob:(urn:li:dataFlow:(spark,a,b),c)", "dataTransformLogic", {"transforms": []})
    )
    assert validator(profile("1.7")).refusal_text(newer) is None
    assert validator(profile("0.15.0")).refusal_text(newer) is not None
