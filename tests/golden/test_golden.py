"""What the captured events become, line by line: a change of the translation shows as a difference that people can read.

One file for each file of examples/events and profile: a proposal a line, sorted by entity and aspect.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import orjson
import pytest

from dh_bridge.bridge import Bridge
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings import Settings

HERE = Path(__file__).parent
EVENTS = sorted((HERE.parents[1] / "examples" / "events").glob("*.ndjson"))
PROFILES = ("0.15.0", "1.7")
_MOST = 600_000


def lines(path, profile):
    """Return the sorted lines of the proposals; of a large set those of every nth entity, so that people can read it."""
    translation = Bridge(Settings(profile=profile)).translate(read_events([path]))
    assert translation.dead == []
    assert translation.rejected == []
    rows = [
        (
            proposal.entity_urn,
            orjson.dumps(
                {
                    "entityUrn": proposal.entity_urn,
                    "aspectName": proposal.aspect_name,
                    "changeType": proposal.change_type,
                    "aspect": proposal.value,
                },
                option=orjson.OPT_SORT_KEYS,
            ),
        )
        for proposal in translation.proposals
    ]
    every = 1 + sum(len(line) for _, line in rows) // _MOST
    return sorted(line for urn, line in rows if zlib.crc32(urn.encode()) % every == 0)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_captured_events_become_what_the_golden_file_says(path, profile, request):
    golden = HERE / f"{path.stem}.{profile}.ndjson"
    found = lines(path, profile)
    if request.config.getoption("--update-golden", default=False):
        golden.write_bytes(b"".join(line + b"\n" for line in found))
    assert golden.read_bytes().splitlines() == found


def test_every_golden_file_has_its_events():
    assert {path.name for path in HERE.glob("*.ndjson")} == {
        f"{path.stem}.{profile}.ndjson" for path in EVENTS for profile in PROFILES
    }


def test_a_golden_file_is_small_enough_to_be_read():
    assert all(path.stat().st_size <= _MOST for path in HERE.glob("*.ndjson"))
