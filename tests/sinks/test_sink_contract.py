from __future__ import annotations

import copy

import msgspec
import pytest
from sink_contract import CASES, PARTS, BrokenOffError, leave, proposals

from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import Delivery


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
        assert sink.emit([proposal]).delivered == 1
    sink.close()
    assert case.arrived(sink, tmp_path) == sent()


def test_an_empty_batch_is_delivered_and_leaves_nothing(case, sink, tmp_path):
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
def test_a_closed_sink_refuses_loudly(sink, batch):
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


def test_a_sink_is_named_after_its_scheme(case, sink, tmp_path):
    assert case.target(tmp_path).startswith(f"{sink.name}:")


def test_an_error_in_the_block_comes_through(case, tmp_path):
    with pytest.raises(BrokenOffError):
        leave(case.open(tmp_path))
