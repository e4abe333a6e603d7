"""Members of an array as they stand there, and an array of too many, whatever they are."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest

from dh_bridge.errors import EventError
from dh_bridge.openlineage.arrays import split_array

WITH_COMMAS = b'{"a,b": [1, 2, {"c": ",,,"}], "d": "\\",\\\\"}'


@pytest.mark.parametrize(
    "member",
    [b"0", b"{}", b"[]", b"null", b'""', b"[[],[]]", WITH_COMMAS, b"NaN", b'"\\udce9"', b"1e999", b'"\xff"', b'{"a": "\xc3"}', "ü".encode()],
    ids=lambda member: member.decode("latin-1"),
)  # fmt: skip
def test_array_members_are_split_up_to_the_limit(member):
    if member == "ü".encode():
        member = b'"%s"' % member
    array = b"[%s]" % b" , ".join([member] * 100)
    retained = {b"NaN": b"null", b'"\\udce9"': b'"\\\\udce9"'}.get(member, member)
    assert list(map(bytes, split_array(array, "here", 100))) == [retained] * 100
    with pytest.raises(EventError, match=r"^here: more than 99 events in one array \(send fewer at once\)$"):
        split_array(array, "here", 99)


@pytest.mark.parametrize("broken", [b"[0, 0, 0", b"[0, 0, 0] 0", b"[0, 0, 0,]", b'[0, 0, "\xff", {]'])
def test_array_that_is_none_is_no_json_however_few_may_be(broken):
    for most in (None, 1, 3, 4):
        with pytest.raises((msgspec.DecodeError, EventError)):
            split_array(broken, "here", most)
    with pytest.raises(msgspec.DecodeError):
        split_array(broken, "here", 4)


@pytest.mark.parametrize(
    ("odd", "rest"),
    [(b"0", b"0"), (b"NaN", b"0"), (b"NaN", b'""'), (b'"\xff"', b"0"), (b"1e999", b"0"), (b'"\\udce9"', b"0")],
)
def test_oversized_array_is_refused_with_little_memory(odd, rest):
    array = b"[%s]" % b",".join([odd, *[rest] * 1_000_000])
    tracemalloc.start()
    try:
        with pytest.raises(EventError):
            split_array(array, "here", 1000)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(array)
    finally:
        tracemalloc.stop()
