"""What is remembered is right, comes twice before it is kept, and stays within its bounds."""

from __future__ import annotations

from support.sample_events import dataset, event, examples, packed

from dh_bridge.bridge import Bridge
from dh_bridge.cache import GenerationalCache
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.settings import Settings


def taught(memory, key, value, size):
    if memory.is_repeated(key):
        memory.store(key, value, size)


def test_value_is_kept_when_its_key_comes_the_second_time():
    memory = GenerationalCache(100)
    taught(memory, "a", 1, 10)
    assert memory.get("a") is None
    taught(memory, "a", 1, 10)
    assert memory.get("a") == 1
    assert memory.get("b") is None


def test_generation_that_nobody_asks_for_is_forgotten():
    memory = GenerationalCache(100)
    for _ in range(2):
        taught(memory, "asked", 1, 10)
        taught(memory, "idle", 2, 10)
    for number in range(60):
        memory.store(number, number, 50)
        assert memory.get("asked") == 1
    assert memory.get("idle") is None
    assert len(memory._young) + len(memory._old) < 8


def test_keys_of_one_hash_are_not_mixed_up():
    memory = GenerationalCache(100)
    memory.store(-1, "minus one", 10)
    assert hash(-1) == hash(-2)
    assert memory.get(-2) is None


def written(bridge, raw):
    return [ndjson_line(one) for one in bridge.translate(raw).proposals]


def test_long_life_changes_no_byte():
    raws = [one.raw for one in examples()][::9]
    old = Bridge()
    first = [written(old, raw) for raw in raws]
    for _ in range(3):
        assert [written(old, raw) for raw in raws] == first
    young = Bridge()
    assert [written(young, raw) for raw in reversed(raws)] == first[::-1]


def test_cached_events_keep_the_facts_of_changed_ones():
    bridge = Bridge()
    plain = event(outputs=[dataset("shop.public.orders")])
    owned = event(outputs=[dataset("shop.public.orders", facets={"ownership": {"owners": [{"name": "user:ann"}]}})])
    for _ in range(4):
        for stated, times in ((plain, 0), (owned, 1)):
            lines = written(bridge, packed([stated])[0])
            assert sum(b'"aspectName":"ownership"' in line for line in lines) == times


def test_jobs_of_one_flow_share_its_aspects_and_keep_their_own():
    bridge = Bridge()
    for _ in range(3):
        for job in ("etl.load", "etl.clean"):
            lines = written(bridge, packed([event(job=job)])[0])
            assert sum(b'"aspectName":"dataFlowInfo"' in line for line in lines) == 1
            assert any(f'"value":"{job}"'.encode() in line for line in lines)


def test_cache_is_separate_for_each_redaction_mode():
    stated = event(job_facets={"sql": {"query": "COPY t FROM 's3://b?token=abc'"}})
    for _ in range(3):
        for mode, shown in (("off", True), ("default", False)):
            lines = written(BRIDGES[mode], packed([stated])[0])
            assert any(b"token=abc" in line for line in lines) is shown


BRIDGES = {mode: Bridge(Settings(redaction=mode)) for mode in ("off", "default")}
