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
    ("value", "encodable"),
    [
        ({"a\udcff": ["b\udc80", ("c", None)]}, {"a\\udcff": ["b\\udc80", ["c", None]]}),
        ({"whole": _Int(3), "part": _Float(0.5), "flag": True}, {"whole": 3, "part": 0.5, "flag": True}),
        ("Größe 🙂", "Größe 🙂"),
    ],
)
def test_encodable_value_is_accepted_by_every_encoder(value, encodable):
    found = make_encodable(value)
    assert found == encodable
    assert orjson.loads(orjson.dumps(found)) == json.loads(json.dumps(found)) == encodable


class WordlessError(Exception):
    def __str__(self):
        raise KeyError("x")


def test_error_without_a_message_has_the_traceback_text():
    assert (error_text(ValueError("x")), error_text(WordlessError())) == ("x", "<exception str() failed>")


def test_boolean_and_unknown_objects_are_unchanged():
    mark = object()
    assert make_encodable([True])[0] is True
    assert make_encodable([mark])[0] is mark
