"""Names that vary: the parts of a name that look like a value of a run, and the groups of names that differ only in them."""

from __future__ import annotations

import json
import re
import time

import pytest

from dh_bridge.checking import check_events
from dh_bridge.checking.varying import mark_glob, mark_name, mark_pattern, varying_groups, word_groups
from dh_bridge.checking.varying_jobs import VaryingJobChecker
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.settings import Settings


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("orders_20261101", ("date",)),
        ("orders-2026-11-01T10:00:00Z", ("date",)),
        ("events/2026/11/01", ("date",)),
        ("orders_1767225600", ("date",)),
        ("orders-6cf96eb0-d436-58d8-a8d8-e9142c5d348f-load", ("uuid",)),
        ("orders_6cf96eb0_d436_58d8_a8d8_e9142c5d348f", ("uuid",)),
        ("orders-7f3a19c0", ("hash",)),
        ("orders-deadbeef", ("hash",)),
        ("livy-session-17", ("number",)),
        ("part-00000", ("number",)),
        ("orders", ()),
        ("facade", ()),
        ("decade-effaced", ()),
        ("orders_99999999", ("number",)),
    ],
)
def test_parts_of_a_name_that_vary_have_a_form(name, forms):
    assert mark_name(name).forms == forms


def groups_of(*names):
    return [(group.display, group.stable_name, group.names) for group in varying_groups(names)]


def test_names_with_the_same_text_and_other_marks_are_a_group():
    names = ("etl-7f3a19c0.x", "etl-8f3a19c1.x", "other-7f3a19c0.x", "etl")
    assert groups_of(*names) == [("etl-<hash>.x", "etl.x", names[:2])]


def test_hash_that_has_only_digits_is_in_the_group_of_its_length():
    names = ("etl-12345678", "etl-7f3a19c0", "etl-8f3a19c1", "etl-17")
    assert groups_of(*names) == [("etl-<hash>", "etl", names[:3])]


def test_mark_with_one_value_is_text_but_a_date_is_not():
    assert groups_of("a1/2026-11-01/7f3a19c0", "a1/2026-11-01/8f3a19c1") == [
        ("a1/<date>/<hash>", "a1", ("a1/2026-11-01/7f3a19c0", "a1/2026-11-01/8f3a19c1"))
    ]


def test_numbers_do_not_vary_where_a_date_varies():
    names = [f"shop{number}_2026110{day}" for number in (1, 2) for day in (1, 2)]
    assert [group[:2] for group in groups_of(*names)] == [("shop1_<date>", "shop1"), ("shop2_<date>", "shop2")]


def test_names_that_differ_in_one_word_are_a_group_of_the_largest_size():
    names = [f"load-{word}-pod" for word in ("happy", "calm", "brave", "eager", "jolly")]
    (group,) = word_groups([*names, "load-happy-job"], min_names=5)
    assert (group.display, group.stable_name, set(group.names)) == ("load-<word>-pod", "load-pod", set(names))
    assert list(word_groups(names, min_names=6)) == []


@pytest.mark.parametrize(
    ("form", "values", "pattern", "glob"),
    [
        ("hash", ("7f3a19c0", "8f3a19c1"), "[0-9A-Fa-f]{8}", "????????"),
        ("hash", ("7f3a19", "8f3a19c1"), "[0-9A-Fa-f]{6,8}", "*"),
        ("date", ("2026-11-01", "2026-11-02"), r"\d{4}-\d{2}-\d{2}", "????-??-??"),
        ("date", ("2026-11-01", "20261102"), "[0-9TtZz:./_-]{8,10}", "*"),
        ("number", ("1", "17"), r"\d+", "*"),
    ],
)
def test_patterns_are_as_narrow_as_the_values(form, values, pattern, glob):
    assert (mark_pattern(form, values), mark_glob(values)) == (pattern, glob)
    assert all(re.fullmatch(pattern, value) for value in values)


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "1" * 100_000, "0a" * 50_000, "2026-" * 20_000, "(" * 100_000, "a-" * 50_000]
)
def test_marks_are_found_in_linear_time(text):
    start = time.process_time()
    mark_name(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("names", "pattern", "rename"),
    [
        ([f"orders/out-{n:05}-of-00003.avro" for n in range(3)], "orders/out-{file}", "orders"),  # Beam
        ([f"lake/orders-{n:05}-of-00003.avro" for n in range(3)], "lake/orders-{file}", "lake/orders"),
        ([f"exp/orders-{n:012}.csv" for n in range(3)], "exp/orders-{file}", "exp/orders"),  # exports of BigQuery
        ([f"unload/orders_{n:04}_part_00.gz" for n in range(3)], "unload/orders_{file}", "unload/orders"),  # Redshift
        ([f"unload/orders/{n:04}_part_00.parquet" for n in range(3)], "unload/orders/{file}", "unload/orders"),
        (
            [f"unload/orders/data_0_{n}_0.csv.gz" for n in range(3)],
            "unload/orders/data_{file}",
            "unload/orders",
        ),  # Snowflake
        ([f"orders/part-r-{n:05}" for n in range(3)], "orders/part-{file}", "orders"),  # MapReduce
    ],
)
def test_files_of_one_table_become_one_dataset(names, pattern, rename):
    events = [dataset_event("gs://lake", name) for name in names]
    (finding,) = check_events(events, Settings()).findings()
    assert (finding.kind, finding.value) == (
        "part-file",
        {"namespace": "gs://lake", "name": pattern, "rename": rename},
    )
    assert check_events(events, Settings(naming={"rules": [finding.value]})).findings() == []


def test_numbered_tables_are_different_tables():
    events = [dataset_event("gs://lake", f"wh/table_{n}.csv") for n in range(3)]
    assert check_events(events, Settings()).findings() == []


def dataset_event(namespace, name):
    body = {
        "eventTime": "2026-11-01T01:00:00Z", "eventType": "COMPLETE",
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark",
        "run": {"runId": "01a1fcf3-ae1a-7325-9ff6-fa80f2885a38"}, "job": {"namespace": "ns", "name": "w.load"},
        "outputs": [{"namespace": namespace, "name": name}],
    }  # fmt: skip
    return parse_event(json.dumps(body).encode(), "here")


def test_many_names_with_datasets_of_their_own_take_linear_time():
    def seconds(count):
        checker = VaryingJobChecker(count)
        for number in range(count):
            word = f"w{number:x}q"
            checker._flows.note_of(f"ns\nspark\nload-{word}").runs.add(word)
            checker._flows.note_of(f"ns\nspark\nload-{word}").datasets.add(word)
        start = time.process_time()
        list(checker.findings({}))
        return time.process_time() - start

    seconds(100)
    assert (
        min(seconds(8_000) for _ in range(3)) < 20 * seconds(1_000) + 0.5
    )  # a pass over all names for each of them takes 64 times as long
