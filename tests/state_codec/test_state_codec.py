"""States come back from bytes as they were, and no name of the code stands in the bytes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from support.ledger_batches import LedgerCase, read
from support.ledger_batches import settings as ledger_settings
from support.sample_events import ROOT, dataset, event, packed
from support.stored_samples import JOB, NAME, SAMPLES, SCHEMA, STAMP, cells_of, form, sample_run

from dh_bridge import testing
from dh_bridge.aggregate.cross_run import contribution
from dh_bridge.closing import close_runs, resolve_own_facts
from dh_bridge.datahub.fine_grained import ValidPairs
from dh_bridge.errors import BridgeError, SinkError
from dh_bridge.extract import FactExtractor
from dh_bridge.model import facts
from dh_bridge.model.facts import JOB_PROPERTIES, FactKind
from dh_bridge.model.properties import MergedProperty
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.state_codec import codec as state_codec
from dh_bridge.state_codec.codec import (
    StateVersionError,
    decode_object,
    decode_registers,
    decode_run,
    encode_object,
    encode_registers,
    encode_run,
)
from dh_bridge.state_codec.kinds import STORED_KINDS

GOLDEN = ROOT / "tests" / "state_codec" / "state_codec.golden.json"
CASES = sorted((ROOT / "tests" / "golden").glob("*/*.events.json"))
REMEDY = r"\(start a new checkpoint and send the events again\)$"
OPTIONS = [
    Options(Settings(**{"datahub_version": "1.7", **chosen}), is_stateful=True)
    for chosen in (
        {},
        {"optional_metadata": ["containers", "queries", "siblings"], "temporary": {"dataset_type": "collapse"}},
        {
            "airflow": {"tasks_without_events": "runs"},
            "edges": "last_run",
            "assertions": {"type": "native", "expire": "runs:3"},
            "temporary": {"dataset_type": "drop_edges"},
        },
        {"identity": {"mode": ["datahub-airflow-plugin", "datahub-dbt-source"]}, "column_lineage": {"target": "both"}},
    )
]


class Alone:
    """A store of runs of which no other run states anything."""

    def exchange(self, states):
        return states

    def contribute(self, closed):
        """Leave what they contribute to the caller."""


def states_of(items, options):
    """Yield each run of the events, and what it contributes."""
    walk, runs = FactExtractor(options), {}
    for item in items:
        walk.extract(item, runs)
    for state in runs.values():
        (run,), _ = close_runs(resolve_own_facts([state.copy()]), Alone(), options)
        yield state, contribution(*run, options)


def comes_back(items, options):
    for state, contributed in states_of(items, options):
        found, found_contribution = decode_run(encode_run(state, contributed))
        assert form(found) == form(state)
        assert form(found_contribution) == form(contributed)
        for slots in contributed.values():
            assert form(decode_registers(encode_registers(slots))) == form(slots)


@pytest.mark.parametrize("slot", SAMPLES, ids=lambda slot: slot.name)
def test_fact_of_each_kind_comes_back(slot):
    slots = {slot: cells_of(slot)}
    assert form(decode_registers(encode_registers(slots))) == form(slots)


def test_each_kind_of_fact_has_a_tag_of_its_own_and_a_sample():
    kinds = [slot for slot in vars(facts).values() if isinstance(slot, FactKind)]
    assert {kind.fact_kind for kind in STORED_KINDS} == set(kinds) == set(SAMPLES)
    assert len({kind.tag for kind in STORED_KINDS}) == len(STORED_KINDS) == len(kinds)


def test_run_with_facts_of_all_kinds_comes_back():
    state, contributed = sample_run()
    found, found_contribution = decode_run(encode_run(state, contributed))
    assert form(found) == form(state)
    assert form(found_contribution) == form(contributed)


def test_objects_can_be_stored_elsewhere():
    state, contributed = sample_run()
    elsewhere = []
    data = encode_run(state, contributed, store_object=lambda value: elsewhere.append(value) or len(elsewhere) - 1)
    found, found_contribution = decode_run(data, find_object=elsewhere.__getitem__)
    assert (form(found), form(found_contribution)) == (form(state), form(contributed))
    assert {type(value) for value in elsewhere} == {type(JOB), type(NAME), type(SCHEMA)}


@pytest.mark.parametrize("value", [JOB, NAME, SCHEMA])
def test_object_comes_back(value):
    assert form(decode_object(encode_object(value))) == form(value)


def test_equal_objects_have_equal_bytes_in_every_process():
    """Numbers of objects are found by a hash of their bytes; the order of a set differs from process to process."""
    code = "from support.stored_samples import NAME; from dh_bridge.state_codec.codec import encode_object as e; print(e(NAME).hex())"
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "tests")}
        made = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert made.stdout.strip() == encode_object(NAME).hex()


def test_stored_form_is_pinned():
    """A rename or a new order of members must not change what is stored. Update the file with the codec's version only."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == state_codec.VERSION
    kinds = {str(kind.tag): kind.fact_kind for kind in STORED_KINDS}
    assert golden["kinds"].keys() == kinds.keys()
    for tag, stored in golden["kinds"].items():
        assert form(decode_registers(bytes.fromhex(stored))) == form({kinds[tag]: cells_of(kinds[tag])})
    state, contributed = sample_run()
    found, found_contribution = decode_run(bytes.fromhex(golden["run"]))
    assert (form(found), form(found_contribution)) == (form(state), form(contributed))
    assert [encode_object(value).hex() for value in (JOB, NAME, SCHEMA)] == golden["objects"]


@pytest.mark.parametrize("options", OPTIONS)
@given(drawn=testing.runs())
@examples(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_states_of_generated_runs_come_back(options, drawn):
    comes_back(read(drawn), options)


@pytest.mark.parametrize("options", OPTIONS)
@given(drawn=testing.events())
@examples(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_states_of_generated_events_come_back(options, drawn):
    comes_back(read([drawn]), options)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name.removesuffix(".events.json"))
def test_states_of_each_golden_case_come_back(case, options):
    comes_back(read(json.loads(case.read_text(encoding="utf-8"))), options)


def test_versions_and_texts_are_shared_after_reading():
    """Tens of thousands of states may be in memory."""
    state, contributed = sample_run()
    found, found_contribution = decode_run(encode_run(state, contributed))
    assert next(iter(found.facts)) is next(iter(found_contribution))
    assert found.events[0][0] is found.facts[next(iter(found.facts))][facts.INPUT][next(iter(SAMPLES[facts.INPUT]))][0]


def test_contribution_can_change_without_the_run():
    state, contributed = sample_run()
    found, found_contribution = decode_run(encode_run(state, contributed))
    (urn, *_) = found_contribution
    found_contribution[urn][facts.TAG]["new"] = (STAMP, None)
    assert form(found) == form(state)


def test_integers_of_any_size_come_back():
    slots = {facts.METRIC: {(1, "rowCount"): (STAMP, 10**40), (1, "less"): (STAMP, -(10**40))}}
    assert decode_registers(encode_registers(slots)) == slots


class Trap:
    def __reduce__(self):
        return print, ("this must not run",)


@pytest.mark.parametrize("decode", [decode_registers, decode_run, decode_object])
def test_pickle_is_refused_with_the_remedy_and_not_run(decode, capsys):
    with pytest.raises(StateVersionError, match=rf"another version of dh-bridge \(a pickle; .*\) {REMEDY}"):
        decode(pickle.dumps(Trap()))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("decode", [decode_registers, decode_run, decode_object])
def test_unknown_version_is_refused_with_the_remedy(decode):
    with pytest.raises(StateVersionError, match=rf"another version of dh-bridge \(format 99; .*\) {REMEDY}"):
        decode(bytes([99]) + encode_object(JOB)[1:])


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01junk", encode_registers({facts.JOB: cells_of(facts.JOB)})[:-3]])
@pytest.mark.parametrize("decode", [decode_registers, decode_run, decode_object])
def test_damaged_bytes_are_refused(decode, data):
    with pytest.raises(BridgeError, match="cannot be read"):
        decode(data)


def test_number_that_names_nothing_is_damage():
    data = encode_registers({facts.INPUT: {"a": (STAMP, 1)}})
    document = state_codec._registers_decoder.decode(data[1:])
    document.tables.texts.clear()
    with pytest.raises(BridgeError, match="cannot be read"):
        decode_registers(data[:1] + state_codec.encode(document))


def names_of_code():
    """Return the names that must not stand in stored bytes."""
    kinds = [slot.name for slot in SAMPLES if "_" in slot.name]
    return [b"dh_bridge", b"dh-bridge", b"RunState", b"SchemaFields", b"NeedsQuotes", b"column_case", b"job_urn", b"Stored",
            b"restored", *(name.encode() for name in kinds)]  # fmt: skip


def test_encoded_state_contains_no_names_of_the_code():
    state, contributed = sample_run()
    data = encode_run(state, contributed)
    assert [name for name in names_of_code() if name in data] == []


def ledger_with_runs():
    ledger_case = LedgerCase(ledger_settings(optional_metadata=("queries",)))
    ledger_case.process(
        read(
            [
                json.loads(line)
                for line in packed([event("START"), event(inputs=[dataset("d.s.a")], outputs=[dataset("d.s.b")])])
            ]
        )
    )
    return ledger_case


def test_ledger_contains_no_names_of_the_code():
    ledger_case = ledger_with_runs()
    held = b"".join(
        value
        for table, columns in (
            ("run", "state"),
            ("shared", "registers, base"),
            ("state_object", "value"),
            ("sent", "aspects"),
            ("run_history", "entry"),
        )
        for row in ledger_case.catalog.connection.execute(f"SELECT {columns} FROM {table}")  # noqa: S608 - our own
        for value in row
        if value is not None
    )
    assert len(held) > 1000
    assert [name for name in names_of_code() if name in held] == []


@pytest.mark.parametrize(("table", "column"), [("run", "state"), ("state_object", "value"), ("shared", "registers")])
@pytest.mark.parametrize(("stored", "found"), [(pickle.dumps({}), "a pickle"), (b"\x02x", "format 2")])
def test_ledger_names_the_state_that_another_version_stored(table, column, stored, found):
    ledger_case = ledger_with_runs()
    ledger_case.catalog.connection.execute(f"UPDATE {table} SET {column} = ?", (stored,))  # noqa: S608 - our own
    ledger_case.ledger._aggregator.clear_cache()
    remedy = r"\(move the file away, but not its event log: the next `emit` makes a new file of the log.*\)$"
    with pytest.raises(
        SinkError, match=rf"the file contains states of another version of dh-bridge: {found}.*{remedy}"
    ):
        ledger_case.process([event("FAIL")])


def test_column_that_nothing_or_a_job_feeds_comes_back():
    feeding = {"type": "JOB", "namespace": "ns", "name": "app.other"}
    lineage = {"lineage": {"fields": {"a": {"inputs": []}, "b": {"inputs": [feeding]}}}}
    ((state, _),) = states_of(read([event(outputs=[dataset("d.s.t", facets=lineage)])]), OPTIONS[0])
    found, _ = decode_run(encode_run(state))
    retained = [slots[JOB_PROPERTIES] for slots in found.facts.values() if JOB_PROPERTIES in slots]
    stated = [value.text for one in retained for _, value in one.values() if isinstance(value, MergedProperty)]
    assert stated == ['{"d.s.t.a":{},"d.s.t.b":{"ns/app.other":""}}']


def test_valid_pairs_are_decoded_as_plain_pairs():
    """They were found sound by who built them; whoever reads bytes has to look again."""
    pairs = ValidPairs({("DIRECT:IDENTITY", "down", "up")})
    slots = decode_registers(encode_registers({facts.FINE_LINEAGE: {"t": (STAMP, pairs)}}))
    found = slots[facts.FINE_LINEAGE]["t"][1]
    assert (type(found), found) == (frozenset, pairs)
