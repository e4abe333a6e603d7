"""The count of JSON's separators, against a decoder's own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.openlineage import json_size
from dh_bridge.openlineage.json_size import has_more_values

SCALARS = st.none() | st.booleans() | st.integers() | st.text(alphabet=st.sampled_from('a\\",:[{é\n'))
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='k\\",:{'), inner))


def separators(value):
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(separators, value))
    if isinstance(value, dict):
        return 1 + max(0, len(value) - 1) + len(value) + sum(map(separators, value.values()))
    return 0


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@given(TREES)
def test_count_is_exact(size, tree):
    raw = json.dumps(tree, ensure_ascii=False).encode()
    count = separators(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_size, "_SLICE_BYTES", size)
        assert not has_more_values(raw, count)
        assert count == 0 or has_more_values(raw, count - 1)


def test_separators_inside_texts_are_free():
    assert not has_more_values(b'{"query": "' + b"select a, b, [c]; " * 10_000 + b'"}', 2)
