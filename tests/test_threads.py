"""A service asks from many threads at once, from its first breath on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples" / "events"

# A thread gives way after every few steps, and all begin together: whatever is made on first use is made by several.
_TOGETHER = """
import sys, threading
from pathlib import Path

{what}

sys.setswitchinterval(1e-6)
first = threading.Barrier(8)
said = [None] * 8


def ask(thread):
    first.wait()
    said[thread] = work()


threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.setswitchinterval(0.005)
alone = work()
assert alone and all(one == alone for one in said), "threads were told something else"
"""

_TRANSLATE = """
from dh_bridge import translate
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events

texts = [line for file in sorted(Path({examples!r}).glob("*.ndjson")) for line in file.read_bytes().splitlines()[:20]]


def work():
    import json

    return [ndjson_line(one) for one in translate([json.loads(text) for text in texts], {{"datahub_version": "1.7"}}).proposals]
"""

_REPORT = """
from dh_bridge import Settings
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.sdk import Freshness, Pipeline, Sql, Volume
from dh_bridge.sinks.memory import MemorySink

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


def work():
    sink = MemorySink()
    pipeline = Pipeline(Settings(datahub_version="1.7"), sink=sink, clock=lambda: 1_700_000_000_000_000_000)
    for check in (Freshness(every=(2, "day")), Volume(min=1), Sql(statement="SELECT 1", min=1)):
        pipeline.assertion(ORDERS, check)
    pipeline.close()
    return [ndjson_line(one) for one in sink.proposals]
"""

_OPEN = """
from dh_bridge.sinks.base import SinkOptions, open_sink


def work():
    for target in ("rest:http://localhost:9", "kafka:localhost:9"):
        open_sink(target, SinkOptions()).close()
    return True
"""

DOORS = {"translate": _TRANSLATE.format(examples=str(EXAMPLES)), "tell by the SDK": _REPORT, "open a sink": _OPEN}


@pytest.mark.parametrize("door", DOORS)
def test_concurrent_first_calls_get_the_result_of_one_call(door: str) -> None:
    script = _TOGETHER.format(what=DOORS[door])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
