"""What changed between what was written of an aspect and what is written now."""

from __future__ import annotations

import doctest

import pytest

from dh_bridge.datahub import aspect_diff
from dh_bridge.datahub.aspect_diff import (
    REMOVED_FINGERPRINT,
    fingerprint,
    has_same_write,
    patch_diff,
    path_fingerprints,
    proposal_fingerprint,
    removal_operation,
    restoring_proposal,
)
from dh_bridge.datahub.proposal import CachedProposal, patch, upsert

URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"


def add(path, value):
    return {"op": "add", "path": path, "value": value}


def test_examples_of_the_module_are_right():
    assert doctest.testmod(aspect_diff).failed == 0


def test_hash_depends_on_the_value_and_not_on_the_order_of_keys():
    assert fingerprint({"a": 1, "b": [1, 2]}) == fingerprint({"b": [1, 2], "a": 1})
    assert fingerprint({"a": 1, "b": [1, 2]}) != fingerprint({"b": [2, 1], "a": 1})


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (upsert("dataset", URN, "status", {"removed": True}), True),
        (upsert("dataset", URN, "status", {"removed": False}), False),
        (patch("dataset", URN, "status", []), False),
    ],
)
def test_same_write_requires_equal_value_and_change_type(other, same):
    assert has_same_write(upsert("dataset", URN, "status", {"removed": True}), other) is same


def test_patches_are_compared_path_by_path():
    before = path_fingerprints([add("/a", 1), add("/b", 1), add("/c", 1)])
    diff = patch_diff(before, path_fingerprints([add("/d", 1), add("/b", 2), add("/c", 1)]))
    assert diff.changed_paths == {"/b", "/d"}
    assert diff.removed_paths == ["/a"]
    assert removal_operation("/a") == {"op": "remove", "path": "/a"}


def test_restored_entity_is_not_removed():
    assert restoring_proposal("dataset", URN) == upsert("dataset", URN, "status", {"removed": False})
    assert proposal_fingerprint(restoring_proposal("dataset", URN)) != REMOVED_FINGERPRINT
    assert proposal_fingerprint(upsert("dataset", URN, "status", {"removed": True})) == REMOVED_FINGERPRINT


def test_hash_of_a_remembered_proposal_is_that_of_its_value():
    one = upsert("dataset", URN, "status", {"removed": True})
    remembered = CachedProposal(one.entity_type, one.entity_urn, one.change_type, one.aspect_name, one.aspect)
    assert proposal_fingerprint(remembered) == proposal_fingerprint(remembered) == proposal_fingerprint(one)
