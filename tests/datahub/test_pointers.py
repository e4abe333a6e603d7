"""JSON pointers (RFC 6901)."""

from __future__ import annotations

import pytest

from dh_bridge.datahub.pointers import steps


@pytest.mark.parametrize(
    ("path", "parts"),
    [("", []), ("/", [""]), ("/a/b", ["a", "b"]), ("/a~1b/~0c", ["a/b", "~c"]), ("/~01", ["~1"]), ("/a/", ["a", ""])],
)
def test_parts_of_a_pointer_are_unescaped(path, parts):
    assert steps(path) == parts
