"""Of a 32-bit float, what a server keeps of a number equals the number; of a double it does not."""

from __future__ import annotations

import pytest

from dh_bridge.datahub.floats import round_floats

THIRD, OF_JAVA = 1 / 3, 0.33333334
STAMP = {"timestampMillis": 0}


def profile_of(field, number):
    return {**STAMP, "fieldProfiles": [{"fieldPath": "a", field: number}]}


@pytest.mark.parametrize("field", ["nullProportion", "uniqueProportion"])
@pytest.mark.parametrize(("sent", "retained"), [(THIRD, OF_JAVA), (0.1, 0.1), (1, 1.0), (0.7, 0.69999999)])
def test_proportions_equal_what_a_server_keeps_of_them(field, sent, retained):
    assert profile_of(field, sent) != profile_of(field, retained) or sent == retained
    assert round_floats("datasetProfile", profile_of(field, sent)) == round_floats(
        "datasetProfile", profile_of(field, retained)
    )


def test_another_number_stays_another_one():
    few, more = (round_floats("datasetProfile", profile_of("nullProportion", number)) for number in (0.25, 0.2500001))
    assert few != more


def test_number_that_is_no_32_bit_float_is_as_it_was():
    for number in (1e300, float("nan"), "text", None, True):
        ((one,),) = [round_floats("datasetProfile", profile_of("nullProportion", number))["fieldProfiles"]]
        assert repr(one["nullProportion"]) == repr(number)


def test_aspect_without_floats_is_the_same_object():
    for aspect, value in (("status", {"removed": True}), ("datasetProfile", STAMP), ("unknown", {"a": 0.1})):
        assert round_floats(aspect, value) is value
