"""The state folder of a stream that another version of dh-bridge wrote is refused before anything is read."""

from __future__ import annotations

import pytest

from dh_bridge.spark.state import StreamState
from dh_bridge.state_codec.codec import VERSION, StateVersionError


@pytest.mark.parametrize(
    ("marks", "found"), [(["batch=0"], "a pickle"), (["base=19"], "a pickle"), (["batch=0", "format=99"], "format 99")]
)
def test_folder_of_another_version_is_refused_with_the_remedy(session, tmp_path, marks, found):
    for mark in marks:
        (tmp_path / "done" / mark).mkdir(parents=True)
    with pytest.raises(StateVersionError) as refused:
        StreamState(session, str(tmp_path), 1)
    assert str(refused.value) == (
        f"{tmp_path}: written by another version of dh-bridge ({found}; this version reads format {VERSION})"
        " (start a new checkpoint and send the events again)"
    )


def test_folder_of_this_version_goes_on(session, tmp_path):
    StreamState(session, str(tmp_path), 0).mark_complete()
    assert (tmp_path / "done" / f"format={VERSION}").exists()
    assert StreamState(session, str(tmp_path), 1)._earlier_batches == [0]
