"""Whatever texts and numbers JSON is made of, every encoder takes it."""

from __future__ import annotations

import json

import orjson
import pytest

from dh_bridge.json_safe import error_text, make_encodable


class _Float(float):
    """As numpy's own."""


class _Int(int):
    pass


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a\udcff": ["b\udc80", ("c", None)]}, {"a\\udcff": ["b\\udc80", ["c", None]]}),
        ({"whole": _Int(3), "part": _Float(0.5), "flag": True}, {"whole": 3, "part": 0.5, "flag": True}),
        ("Größe 🙂", "Größe 🙂"),
    ],
)
def test_every_encoder_takes_what_comes_of_it(value, told):
    found = make_encodable(value)
    assert found == told
    assert orjson.loads(orjson.dumps(found)) == json.loads(json.dumps(found)) == told


class WordlessError(Exception):
    def __str__(self):
        raise KeyError("x")


def test_an_error_without_words_has_those_of_traceback():
    assert (error_text(ValueError("x")), error_text(WordlessError())) == ("x", "<exception str() failed>")


def test_a_flag_stays_a_flag_and_what_is_no_json_is_left_to_the_encoder():
    mark = object()
    assert make_encodable([True])[0] is True
    assert make_encodable([mark])[0] is mark
