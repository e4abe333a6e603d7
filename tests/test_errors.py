"""Errors: they say where, what and what now, in whichever process they are read."""

from __future__ import annotations

import copy
import pickle

import pytest

from dh_bridge.errors import AspectError, EventError, MappingError, SettingsError, SinkError

NAMED = {"location": "$.run", "remedy": "mend it"}


@pytest.mark.parametrize(
    "error",
    [
        *(kind("is wrong", **NAMED) for kind in (EventError, MappingError, AspectError, SettingsError)),
        SinkError("is down", **NAMED, retryable=True),
    ],
)
def test_error_is_the_same_in_another_process(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
