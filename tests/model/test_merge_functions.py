"""Each law by itself: the order and number of statements must not matter."""

from __future__ import annotations

import json
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.model import facts
from dh_bridge.model import merge as functions
from dh_bridge.model.fold import add_facts, merge_facts
from dh_bridge.model.merge import Digest

TEXTS = st.sampled_from(["", "a", "b", "select 1", "select 1, 2"])
NUMBERS = st.integers(-3, 3)


def stamps():
    """Return stamps as events have them: time, rank, content, place inside the event; many of them tie."""
    digests = st.sampled_from([b'{"a":1}', b'{"a":2}', b'{"b":[]}']).map(Digest)
    return st.tuples(st.integers(0, 2), st.integers(0, 2), digests, st.integers(0, 1))


def distinct_cells(values):
    """Return cells in which one stamp carries one value, as one place of one event says one thing."""

    def distinct(cells):
        first = {}
        for stamp, value in cells:
            first.setdefault(stamp, value)
        return [(stamp, first[stamp]) for stamp, _ in cells]

    return st.lists(st.tuples(stamps(), values), min_size=1, max_size=6).map(distinct)


def actors():
    return st.tuples(st.integers(0, 3), st.sampled_from(["", "urn:li:corpuser:a"]))


LAWS = {
    "latest": (functions.latest, distinct_cells(TEXTS | st.none())),
    "largest": (functions.maximum, st.lists(st.tuples(stamps(), NUMBERS), min_size=1, max_size=6)),
    "span": (functions.interval, st.lists(st.tuples(stamps(), NUMBERS), min_size=1, max_size=6)),
    "collected": (
        functions.union_of_texts,
        st.lists(st.tuples(stamps(), TEXTS).map(lambda pair: (pair[0], ((pair[0], pair[1]),))), min_size=1, max_size=6),
    ),
    "newest": (
        functions.latest_elements,
        st.lists(st.tuples(stamps(), st.tuples(st.tuples(NUMBERS, st.binary(max_size=2)))), min_size=1, max_size=6),
    ),
    "joined": (functions.union, st.lists(st.tuples(stamps(), st.frozensets(TEXTS)), min_size=1, max_size=6)),
    "edge": (
        functions.edge_interval,
        distinct_cells(TEXTS).flatmap(
            lambda cells: st.tuples(*(st.tuples(actors(), actors()) for _ in cells)).map(
                lambda times: [
                    (stamp, (*time, {"rows": text} if text else {}))
                    for (stamp, text), time in zip(cells, times, strict=True)
                ]
            )
        ),
    ),
}


def test_every_merge_function_is_tested():
    used = {slot.merge for slot in vars(facts).values() if isinstance(slot, facts.FactKind)}
    assert used == {law for law, _ in LAWS.values()}


@pytest.mark.parametrize("name", LAWS)
@given(data=st.data())
def test_law_is_commutative(name, data):
    law, cells = LAWS[name]
    drawn = data.draw(cells)
    a, b = drawn[0], drawn[-1]
    assert law(a, b) == law(b, a)


@pytest.mark.parametrize("name", LAWS)
@given(data=st.data())
def test_law_is_associative(name, data):
    law, cells = LAWS[name]
    drawn = data.draw(cells)
    a, b, c = drawn[0], drawn[len(drawn) // 2], drawn[-1]
    assert law(law(a, b), c) == law(a, law(b, c))


@pytest.mark.parametrize("name", LAWS)
@given(data=st.data())
def test_law_is_idempotent(name, data):
    law, cells = LAWS[name]
    drawn = data.draw(cells)
    folded = reduce(law, drawn)
    assert law(drawn[0], drawn[0]) == drawn[0]
    assert [law(folded, cell) for cell in drawn] == [folded] * len(drawn)


@pytest.mark.parametrize("name", LAWS)
@given(data=st.data())
def test_any_order_with_doubles_ends_in_the_same_cell(name, data):
    law, cells = LAWS[name]
    drawn = data.draw(cells)
    shuffled = data.draw(st.permutations([*drawn, *data.draw(st.lists(st.sampled_from(drawn), max_size=3))]))
    assert reduce(law, shuffled) == reduce(law, drawn)


# -- what each law keeps ---------------------------------------------------------------------------------------------

EARLY, LATE = (1, 0), (2, 0)


@pytest.mark.parametrize(
    ("law", "old", "new", "retained"),
    [
        (functions.latest, (EARLY, "x"), (LATE, None), (LATE, None)),
        (functions.maximum, (LATE, 3), (EARLY, 5), (EARLY, 5)),
        (functions.maximum, (EARLY, 3), (LATE, 3), (LATE, 3)),
        (functions.interval, (LATE, 20), (EARLY, 10), (LATE, 10)),
        (
            functions.union_of_texts,
            (LATE, ((LATE, "b"),)),
            (EARLY, ((EARLY, "a"),)),
            (LATE, ((EARLY, "a"), (LATE, "b"))),
        ),
        (functions.union_of_texts, (LATE, ((LATE, "a"),)), (EARLY, ((EARLY, "a"),)), (LATE, ((LATE, "a"),))),
        (functions.union, (EARLY, frozenset("ab")), (LATE, frozenset("bc")), (LATE, frozenset("abc"))),
        (
            functions.edge_interval,
            (LATE, ((20, "u"), (20, "u"), {"rows": "1"})),
            ((0,), ((10, "v"), (30, "w"), {})),
            (LATE, ((10, "v"), (30, "w"), {"rows": "1"})),
        ),
    ],
)
def test_merge_function_keeps_the_expected_value(law, old, new, retained):
    assert law(old, new) == retained


def test_edge_keeps_the_properties_of_the_last_run_with_any():
    first, second = ((1,), ((1, "u"), (1, "u"), {"rows": "1"})), ((2,), ((2, "u"), (2, "u"), {"rows": "2"}))
    silent = ((0,), ((3, "u"), (3, "u"), {}))
    assert functions.edge_interval(functions.edge_interval(first, silent), second) == functions.edge_interval(
        functions.edge_interval(first, second), silent
    )
    assert functions.edge_interval(functions.edge_interval(first, silent), second)[1][2] == {"rows": "2"}


# -- stamps ----------------------------------------------------------------------------------------------------------


def stamp(raw, time=1, rank=1, weight=0):
    return (time, rank, Digest(raw), weight)


def test_time_goes_before_type_and_type_before_content():
    raw = b'{"a":1}'
    rising = [stamp(raw, 1, 3), stamp(raw, 1, 4), stamp(raw, 2, 0), stamp(raw, 2, 0, 1)]
    assert sorted(rising, reverse=True) == rising[::-1]


def test_events_of_equal_time_are_ordered_by_content():
    a, b = stamp(b'{"a":1}'), stamp(b'{"a":2}')
    assert (a < b) != (b < a)
    assert functions.latest((a, "a"), (b, "b")) == functions.latest((b, "b"), (a, "a"))
    assert (a < b) == (stamp(b'{"a":1}') < stamp(b'{"a":2}'))
    assert (a > b) == (b < a)


def test_same_event_in_another_spelling_has_the_same_stamp():
    spelt = [b'{"a":1,"b":[1,2]}', b'{ "b" : [1, 2],\n"a": 1 }']
    a, b = map(stamp, spelt)
    assert a == b
    assert not a < b
    assert not a > b
    assert hash(a) == hash(b)
    assert stamp(b'{"a":1,"b":[2,1]}') != a
    assert stamp(b"{}")[2] != b"{}"


def test_digest_is_worked_out_only_when_two_stamps_tie():
    a, b, c = stamp(b"no json", 1), stamp(b"no json either", 2), stamp(b"nor this", 2, 3)
    assert [a < b, b < c, a == b, a == a] == [True, True, False, True]  # noqa: PLR0124 - a stamp meets itself
    assert (a[2] < a[2], a[2] > a[2]) == (False, False)


def test_digest_accepts_deeply_nested_content():
    deep = b"[" * 50_000 + b"]" * 50_000
    assert Digest(deep) == Digest(bytes(bytearray(deep)))
    assert Digest(deep) != Digest(deep + b" ")


# -- the fold --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), stamps(), NUMBERS), max_size=8), st.randoms())
def test_merge_of_two_halves_equals_the_merge_of_all_facts(statements, chance):
    def folded(some):
        cells = {}
        for entity, key, when, number in some:
            add_facts(cells, [(entity, facts.LAST_MODIFIED, key, number)], when)
        return cells

    cut = chance.randint(0, len(statements))
    target = folded(statements[:cut])
    merge_facts(target, folded(statements[cut:]))
    assert target == folded(statements)


def test_only_what_runs_share_is_merged_unless_all_is_asked_for():
    cells, shared, everything = {}, {}, {}
    add_facts(cells, [("a", facts.TAG, "x", None), ("a", facts.RUN_NAME, 1, "n")], (1,))
    merge_facts(shared, cells)
    merge_facts(everything, cells, shared_only=False)
    assert shared == {"a": {facts.TAG: {"x": ((1,), None)}}}
    assert everything == cells


def test_slot_and_a_tombstone_are_shown_by_name():
    assert json.dumps([repr(facts.TAG), repr(facts.TOMBSTONE)]) == '["<TAG>", "TOMBSTONE"]'
