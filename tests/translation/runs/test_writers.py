"""Writers of a dataset among which are those that handed it down: what a look at all of them would find."""

from __future__ import annotations

import random

import pytest

from dh_bridge.settings import Settings
from dh_bridge.translation.runs.handing_down import MOST_TIED, winners
from dh_bridge.translation.runs.writers import Read, Write, Writers

SECOND = 1_000_000
DAY = 86_400 * SECOND


def handed(reads, writes, parents, settings, asked=None):
    """Return what each reader takes over, of the writers that were found."""

    def may(reader):
        def apart(run):
            if asked is not None:
                asked.append(run)
            return run not in (reader, parents.get(reader)) and parents.get(run) != reader

        return apart

    writers = Writers(writes, settings.upstream_skew_seconds * SECOND, MOST_TIED)
    found = {}
    for read in sorted(reads, key=lambda read: read.time):
        own = None if settings.upstream_self_edges or not read.job else read.job
        found[read.run] = winners(read, writers.of(read, own, may(read.run)), parents.get, settings)
    return found


def hostile(chance, runs):
    """Return readers and writers of one dataset, close enough to be of one moment, one job, one version or one family."""
    jobs, versions, unit = ["", *"abc"], [None, None, "1", "2"], chance.choice([SECOND, DAY])
    names = [f"r{number:02}" for number in range(runs)]
    chance.shuffle(names)
    writes, reads, parents = [], [], {}
    for name in names:
        job, first = chance.choice(jobs), chance.randrange(12) * unit
        last = first + chance.choice([0, 0, chance.randrange(8)]) * unit
        if chance.random() < 0.8:
            writes.append(Write("d", name, job, first, last, chance.choice(versions)))
        if chance.random() < 0.8:
            reads.append(Read("d", name, job, chance.randrange(12) * unit, chance.choice(versions)))
        parents[name] = chance.choice([None, None, *names[: names.index(name)][:3]])  # of one generation
    return reads, writes, {run: above for run, above in parents.items() if above and parents.get(above) is None}


@pytest.mark.parametrize("seed", range(10))
def test_the_same_runs_hand_down_as_if_each_was_looked_at(seed):
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    for turn in range(100):
        reads, writes, parents = hostile(chance, 3 + turn % 30)
        settings = Settings(
            runs={
                "upstream_self_edges": chance.random() < 0.3,
                "upstream_skew_seconds": chance.choice([0, 0, 3, 3 * 86_400]),
                "upstream_window_days": chance.choice([1, 4, 20]),
            }
        ).runs
        wanted = {read.run: winners(read, writes, parents.get, settings) for read in reads}
        assert handed(reads, writes, parents, settings) == wanted


@pytest.mark.parametrize(
    ("job", "last", "version"),
    [("j{}", 0, None), ("same", 0, None), ("j{}", 50, None), ("same", 50, None), ("j{}", 0, "1"), ("same", 0, "1")],
)
@pytest.mark.parametrize("apart", [0, 1])
def test_of_a_hot_dataset_few_writers_are_looked_at(job, last, version, apart):
    runs = [(f"r{number:04}", job.format(number), number * apart) for number in range(1000)]
    writes = [Write("d", run, name, time, time + last, version) for run, name, time in runs]
    reads = [Read("d", run, name, time, version) for run, name, time in runs]
    asked = []
    handed(reads, writes, {}, Settings().runs, asked)
    assert len(asked) <= 12 * len(reads)
