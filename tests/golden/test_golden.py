"""What the captured events become: a change of the translation shows as a difference that people can read.

The same comparison as ``dh-bridge golden`` makes for users; one golden file for each file of examples/events and of events/
(what was captured besides the story of examples/) and profile.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dh_bridge import Bridge, Settings
from dh_bridge.testing import Case, compare

HERE = Path(__file__).parent
EVENTS = sorted([*(HERE.parents[1] / "examples" / "events").glob("*.ndjson"), *(HERE / "events").glob("*.ndjson")])
PROFILES = ("0.15.0", "1.7")
_MOST = 600_000


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_captured_events_become_what_the_golden_file_says(path, profile, request):
    case = Case(path, HERE / f"{path.stem}.{profile}.ndjson")
    update = request.config.getoption("--update-golden", default=False)
    differences = compare(case, Bridge(Settings(datahub_version=profile)), update=update).differences
    assert not differences, "\n".join([case.proposals.name, *differences])


def test_every_golden_file_has_its_events():
    assert {path.name for path in HERE.glob("*.ndjson")} == {
        f"{path.stem}.{profile}.ndjson" for path in EVENTS for profile in PROFILES
    }


def test_a_golden_file_is_small_enough_to_be_read():
    assert all(path.stat().st_size <= _MOST for path in HERE.glob("*.ndjson"))
