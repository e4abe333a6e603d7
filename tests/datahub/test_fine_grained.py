"""Column lineage as operations: what was built of sound ends is not checked again, everything else is."""

from __future__ import annotations

import pickle
import weakref

import orjson
import pytest
from support.oracles import judged

from dh_bridge.datahub.fine_grained import (
    PlainPairs,
    ValidPairs,
    append_lineage,
    fine_operations,
    merge_pairs,
    operations_by_query,
    path_ends,
    path_of,
)
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import patch
from dh_bridge.datahub.urns import FieldUrns

JOB = "urn:li:dataJob:(urn:li:dataFlow:(spark,orders,prod),load)"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
FIELDS = FieldUrns(TABLE)
SOUND = ValidPairs({("DIRECT:IDENTITY", FIELDS["a"], FIELDS["b"]), (None, FIELDS["a"], FIELDS["c"])})
UNSOUND = frozenset({(None, FIELDS["a"], "urn:li:schemaField:nothing")})
EDGE = {
    "op": "add",
    "path": f"/inputDatasetEdges/{TABLE}",
    "value": {"destinationUrn": TABLE, "created": {"time": 1, "actor": "urn:li:corpuser:jo"}},
}


def finding(operations):
    return judged(patch("dataJob", JOB, "dataJobInputOutput", operations), profile())


@pytest.mark.parametrize(
    "operations", [fine_operations(SOUND), append_lineage([EDGE], operations_by_query([("", SOUND)]))]
)
def test_valid_fine_operations_pass_and_equal_a_plain_list(operations):
    assert operations.valid_count == 2
    assert finding(operations) is None
    assert finding(list(operations)) is None
    assert orjson.dumps(operations) == orjson.dumps(list(operations))


def test_edges_before_fine_operations_are_validated():
    assert "destinationUrn" in finding(append_lineage([{**EDGE, "value": {}}], fine_operations(SOUND)))


def test_ends_that_nobody_vouched_for_are_checked():
    assert finding(fine_operations(merge_pairs([SOUND, UNSOUND]))) is not None
    several = operations_by_query([("", SOUND), ("urn:li:query:q", UNSOUND)])
    assert several.valid_count == 0
    assert finding(several) is not None


def test_pickled_fine_operations_are_validated_again():
    again = pickle.loads(pickle.dumps(fine_operations(SOUND)))  # noqa: S301 - our own
    assert type(again) is list
    assert again == fine_operations(SOUND)


PLAIN = PlainPairs(map(path_of, SOUND))


def test_plain_pairs_equal_their_expanded_set():
    assert PLAIN == SOUND
    assert SOUND == PLAIN
    assert hash(PLAIN) == hash(SOUND)
    assert (len(PLAIN), next(iter(SOUND)) in PLAIN, (None, "", "") in PLAIN) == (2, True, False)
    assert fine_operations(PLAIN) == fine_operations(SOUND)
    assert fine_operations(PLAIN).valid_count == 2
    assert fine_operations(PLAIN, "urn:li:query:q") == fine_operations(SOUND, "urn:li:query:q")
    assert pickle.loads(pickle.dumps(PLAIN)) == SOUND  # noqa: S301 - our own


def test_plain_pairs_join_others():
    more = frozenset({("DIRECT", FIELDS["d"], FIELDS["b"])})
    plain = PlainPairs(map(path_of, more))
    for one, other in ((PLAIN, plain), (PLAIN, more), (SOUND, plain), (plain, PLAIN)):
        assert one | other == SOUND | more
        assert merge_pairs([one, other]) == SOUND | more
    assert type(PLAIN | plain) is PlainPairs
    assert (
        fine_operations(merge_pairs([PLAIN, plain])).valid_count
        == fine_operations(merge_pairs([SOUND, plain])).valid_count
        == 3
    )
    assert PLAIN | PLAIN == PLAIN


def test_operations_that_are_asked_for_again_are_made_no_more():
    plain = PlainPairs(map(path_of, SOUND))
    first, second, third = (fine_operations(plain) for _ in range(3))
    assert first == second
    assert third is second


def test_path_ends_parses_only_fine_grained_lineage_paths():
    odd = ("a/b~c", FIELDS["a"], FieldUrns(TABLE.replace("postgres,", "s3,lake/"))["b"])
    assert path_ends(path_of(odd)) == odd[1:]
    assert path_ends("/fineGrainedLineages/job") is path_ends(TABLE) is None


def fresh(number, count=2000):
    fields = FieldUrns(TABLE.replace("orders", f"orders_{number}"))
    return ValidPairs({("DIRECT:IDENTITY", fields[f"a{at}"], fields["b"]) for at in range(count)})


def test_set_that_came_twice_is_rendered_no_more():
    first, second, third = (fine_operations(fresh("again", 3)) for _ in range(3))
    assert first == second
    assert third is second
    assert fine_operations(fresh("again", 3), "urn:li:query:q") != second


def test_sets_that_are_remembered_are_bounded_in_bytes():
    alive = []
    for number in range(60):
        pairs = fresh(number)
        alive.append(weakref.ref(pairs))
        for _ in range(2):
            assert len(fine_operations(pairs)) == 2000
    del pairs
    assert sum(one() is not None for one in alive) * 2000 * 900 <= 2 * (32 * 1024 * 1024 + 3_000_000)
