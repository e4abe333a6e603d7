"""Translation in partitions, without Spark: events are divided, translated apart and merged."""

from __future__ import annotations

import random
from functools import cache
from zlib import crc32

from msgspec import structs

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.partitioned.entities import GroupRenderer, merge_pieces
from dh_bridge.partitioned.families import RunLinks, group_runs
from dh_bridge.partitioned.others import named_run_urns
from dh_bridge.partitioned.records import to_record
from dh_bridge.partitioned.runs import CrossRunFacts, PartitionTranslator, TranslatedRun
from dh_bridge.state_codec.codec import decode_registers, decode_run, encode_registers, encode_run

SEED = 2026


def dumped(proposals):
    """Return what a catalogue holds after ``proposals``, none of which it may refuse."""
    with Catalog(":memory:") as catalog:
        assert catalog.apply(proposals).failures == []
        return list(dump_catalog(catalog))


@cache
def compiled(settings):
    return Bridge(Settings.model_validate_json(settings))


def bridge(settings):
    """Return a bridge, the same for the same settings: compiling them takes longer than a small group of runs."""
    return compiled(settings.model_dump_json(by_alias=True))


def in_parts(raws, settings, parts=3, held=7, *, family=False):
    """Return (proposals, number of runs that closed late) of events that are worked on in parts; ``family``: as families."""
    options, zone = bridge(settings).options, bridge(settings).zone
    records = [to_record(parse_event(raw, f"e[{position}]"), options) for position, raw in enumerate(raws)]
    links = RunLinks(options, zone)
    above = group_runs((one.key, other) for one in records for other in links.linked_urns(one)) if family else {}
    records = [structs.replace(one, key=above.get(one.key, one.key)) for one in records]
    random.Random(SEED).shuffle(records)  # noqa: S311 - reproducible, not secret
    shares = [[one for one in records if crc32(one.key.encode()) % parts == part] for part in range(parts)]
    runs, pieces, stated = [], [], []

    def work(share, witnesses=None):
        folded = PartitionTranslator(options, zone, witnesses=witnesses, max_entities=held)
        for item in folded.translate(sorted(share, key=lambda one: one.key)):
            if isinstance(item, TranslatedRun):
                assert item.rejected == []
                runs.append(item)
            elif isinstance(item, CrossRunFacts):
                stated.append(item)
            elif isinstance(item, tuple):
                pieces.append((item[0], item[1], encode_registers(item[2])))
        return folded.counts

    counts = [work(share) for share in shares]
    assert sum(one.events + one.dead for one in counts) == len(raws)
    witnesses = [encode_run(one.witness) for one in stated if one.witness is not None]
    again = {one.key for one in stated if one.is_open} | {
        urn for encoded_witness in witnesses for urn in named_run_urns(decode_run(encoded_witness)[0])
    }
    again = {above.get(key, key) for key in again}
    runs = [run for run in runs if run.key not in again]
    for share in shares:
        work([one for one in share if one.key in again], witnesses)
    groups = {}
    for key, urn, data in pieces:
        groups.setdefault(key, []).append((urn, decode_registers(data)))
    entities = GroupRenderer(options)
    rendered = list(entities.render_groups(map(merge_pieces, groups.values())))
    assert [group.rejected for group in rendered if group.rejected] == []
    shared = [proposal for group in rendered for proposal in group.proposals]
    return [*shared, *(proposal for run in runs for proposal in run.proposals)], len(again)


def differs(raws, settings):
    in_one = Bridge(settings) if settings.temporary.datasets else bridge(settings)
    return dumped(in_one.translate(raws).proposals) != dumped(in_parts(raws, settings)[0])
