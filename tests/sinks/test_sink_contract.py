from __future__ import annotations

import copy
import inspect
import time
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from support.sink_contract import CASES, CREATE, DATASET, PARTS, BrokenOffError, leave, proposals

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.errors import SinkError
from dh_bridge.sinks import abilities
from dh_bridge.sinks.abilities import SinkWrapper, open_readonly
from dh_bridge.sinks.base import SINK_KINDS, Delivery, SinkKind, address_of, kind_of, local_path, target_kind
from dh_bridge.sinks.memory import MemorySink


@pytest.fixture(
    params=[pytest.param(case, id=case.name, marks=[pytest.mark.kafka] if case.needs else []) for case in CASES]
)
def case(request):
    PARTS.update({name: request.getfixturevalue(name) for name in request.param.needs})
    return request.param


@pytest.fixture
def sink(case, tmp_path):
    with case.open(tmp_path) as opened:
        yield opened


def sent():
    return [(proposal.entity_urn, proposal.aspect_name) for proposal in proposals()]


def test_everything_arrives_in_order(case, sink, tmp_path):
    delivery = sink.emit(proposals())
    sink.close()
    assert delivery == Delivery(3, [])
    assert case.arrived(sink, tmp_path) == sent()


def test_batches_add_up(case, sink, tmp_path):
    for proposal in proposals():
        assert sink.emit([proposal]).delivered_count == 1
    sink.close()
    assert case.arrived(sink, tmp_path) == sent()


def test_empty_batch_is_delivered_and_leaves_nothing(case, sink, tmp_path):
    assert sink.emit([]) == Delivery(0, [])
    sink.close()
    assert case.arrived(sink, tmp_path) == []


def test_any_sequence_is_a_batch(case, sink, tmp_path):
    sink.emit(tuple(proposals()))
    sink.close()
    assert case.arrived(sink, tmp_path) == sent()


def test_proposals_are_left_as_they_were(sink):
    batch = proposals()
    before = copy.deepcopy([msgspec.to_builtins(proposal) for proposal in batch])
    sink.emit(batch)
    sink.emit(batch)
    assert [msgspec.to_builtins(proposal) for proposal in batch] == before


def test_closing_twice_is_closing_once(case, sink, tmp_path):
    sink.emit(proposals())
    sink.close()
    sink.close()
    assert case.arrived(sink, tmp_path) == sent()


@pytest.mark.parametrize("batch", [[], proposals()], ids=["empty", "full"])
def test_closed_sink_refuses_loudly(sink, batch):
    sink.close()
    with pytest.raises(SinkError, match="closed") as caught:
        sink.emit(batch)
    assert caught.value.retryable is False


def test_leaving_the_block_closes(case, tmp_path):
    with case.open(tmp_path) as sink:
        sink.emit(proposals())
    with pytest.raises(SinkError, match="closed"):
        sink.emit(proposals())
    assert case.arrived(sink, tmp_path) == sent()


def test_sink_is_named_after_its_scheme(case, sink, tmp_path):
    assert case.target(tmp_path).startswith(f"{sink.name}:")


def test_error_in_the_block_comes_through(case, tmp_path):
    with pytest.raises(BrokenOffError):
        leave(case.open(tmp_path))


# -- abilities -----------------------------------------------------------------------------------------------------------

PROTOCOLS = {
    "is_readable": abilities.Readable,
    "lists_entities": abilities.Listable,
    "reports_version": abilities.SupportsVersion,
    "has_deadline": abilities.SupportsDeadline,
    "has_own_ledger": abilities.LedgerHolder,
    "learns_patch_forms": abilities.SupportsPatchForms,
}
"""Ability -> what a sink that declares it has."""
BEHAVIOURS = {"needs_version", "atomic_on_close"}
"""Abilities that add no method."""


def has(sink, protocol):
    """Return whether a sink has all members of a protocol, looked up in its class so that nothing is opened for it."""
    own = {name for name in vars(protocol) if not name.startswith("_")}
    return all(hasattr(type(sink), name) or name in vars(sink) for name in own)


def test_every_ability_is_covered_here():
    described = inspect.getdoc(SinkKind).partition("Abilities of its sinks:")[2]
    documented = {
        line.partition(":")[0].strip() for line in described.splitlines() if line.startswith("    ") and ": " in line
    }
    declared = {one.name for one in fields(SinkKind)} & documented
    assert declared == set(PROTOCOLS) | BEHAVIOURS


def test_sink_is_of_the_kind_that_its_target_has(case, sink, tmp_path):
    assert kind_of(sink) == replace(target_kind(case.target(tmp_path)), by_suffix=kind_of(sink).by_suffix)
    assert kind_of(sink).scheme in SINK_KINDS


@pytest.mark.parametrize("ability", PROTOCOLS)
def test_sink_has_the_abilities_that_it_declares_and_no_others(case, sink, ability):
    assert has(sink, PROTOCOLS[ability]) is getattr(kind_of(sink), ability), case.name


@pytest.mark.parametrize("ability", PROTOCOLS)
def test_ability_that_is_declared_and_not_implemented_is_found(ability):
    sink = MemorySink()
    sink.kind = replace(sink.kind, **{ability: True})
    assert has(sink, PROTOCOLS[ability]) is not getattr(kind_of(sink), ability)


def test_sink_around_another_has_its_abilities(sink):
    outer = SinkWrapper(sink)
    assert outer.kind is sink.kind
    if outer.kind.is_readable:
        assert outer.read({DATASET: []}) == sink.read({DATASET: []})
        assert outer.forbidden_urns == sink.forbidden_urns
    if outer.kind.lists_entities:
        assert list(outer.urns()) == list(sink.urns())
    if outer.kind.reports_version:
        assert outer.version() == sink.version()
    if outer.kind.has_own_ledger:
        assert outer.catalog is sink.catalog
    if outer.kind.learns_patch_forms:
        assert outer.patch_forms is sink.patch_forms


def test_readable_sink_reads_emitted_aspects(sink):
    if not kind_of(sink).is_readable:
        pytest.skip("cannot be read")
    assert sink.read({DATASET: ["subTypes", "datasetKey"]}) == {}
    sink.emit(proposals())
    present = sink.read({DATASET: ["subTypes", "datasetKey"]})
    assert present[DATASET]["subTypes"].value == {"typeNames": ["Table"]}
    assert list(sink.forbidden_urns) == []


def test_listing_sink_lists_emitted_entities(case, sink, tmp_path):
    if not kind_of(sink).lists_entities:
        pytest.skip("lists no entities")
    sink.emit(proposals())
    assert DATASET in set(sink.urns())
    sink.close()
    with open_readonly(case.target(tmp_path)) as reader:
        assert DATASET in set(reader.urns())
        assert DATASET in reader.read({DATASET: []})


def test_sink_that_reports_a_version_names_it(case, sink):
    if not kind_of(sink).reports_version:
        pytest.skip("names no version")
    assert case.name.endswith(f" {sink.version()}") or sink.version() in case.name


def test_sink_with_a_deadline_sends_nothing_after_it(case, sink, tmp_path):
    if not kind_of(sink).has_deadline:
        pytest.skip("knows no deadline")
    sink.set_deadline(time.monotonic() - 1)
    with pytest.raises(SinkError) as caught:
        sink.emit(proposals())
    assert caught.value.retryable
    assert case.arrived(sink, tmp_path) == []


def test_atomic_sink_has_no_file_before_close(case, sink, tmp_path):
    target = case.target(tmp_path)
    path = local_path(target)
    if path is None:
        assert not kind_of(sink).atomic_on_close
        pytest.skip("is no local file")
    sink.emit(proposals())
    assert Path(path).exists() is not kind_of(sink).atomic_on_close
    sink.close()
    assert Path(path).is_file()


@pytest.mark.parametrize("version", ["1.3", "1.7"])
def test_version_dependent_sink_drops_unsupported_creates(case, tmp_path, version):
    options = msgspec.structs.replace(case.options(tmp_path), datahub_version=version)
    with case.open(tmp_path, options) as sink:
        if not kind_of(sink).needs_version:
            pytest.skip("does not depend on the version")
        assert sink.emit([CREATE]) == Delivery(int(version != "1.3"), [])
        assert sink.dropped_counts.total() == int(version == "1.3")


def test_sink_with_its_own_ledger_keeps_state_in_the_target(case, sink, tmp_path):
    if not kind_of(sink).has_own_ledger:
        pytest.skip("needs a ledger")
    assert isinstance(sink.catalog, Catalog)
    assert sink.catalog.path == address_of(case.target(tmp_path))


def test_sink_that_learns_patch_forms_has_them(sink):
    if not kind_of(sink).learns_patch_forms:
        pytest.skip("learns none")
    sink.emit(proposals())
    assert isinstance(sink.patch_forms, PatchForms)


def test_every_sink_counts_what_it_leaves_out(sink):
    assert isinstance(abilities.dropped_counts(sink), Counter)
