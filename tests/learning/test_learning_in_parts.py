"""Learners that share the events out come to what one learner of all events comes to."""

from __future__ import annotations

from collections import Counter

import pytest
from samples import corpus, dataset, event, examples, needs_corpus
from samples import packed as sent

from dh_bridge import Settings
from dh_bridge.learning import Learner, learn
from dh_bridge.learning.sample import Sample
from dh_bridge.openlineage.parsing import parse
from dh_bridge.translation.packing import packed, unpacked

SETTINGS = Settings()


def in_parts(events, parts, limit=20_000):
    whole = Learner(SETTINGS, limit=limit)
    for part in range(parts):
        notes = learn(events[part::parts], SETTINGS, limit=limit).notes()
        whole.take(unpacked(packed(notes)))
    return whole


@pytest.mark.parametrize("parts", [1, 3])
def test_the_page_of_parts_is_that_of_one(parts):
    assert in_parts(list(examples()), parts).page() == learn(examples(), SETTINGS).page()


@needs_corpus
def test_the_page_of_the_corpus_in_parts_has_the_same_proposals():
    def settings(page):
        return [line for line in page.splitlines() if not line.lstrip().startswith("#")]

    assert settings(in_parts(list(corpus()), 4).page()) == settings(learn(corpus(), SETTINGS).page())


def test_contradictions_between_parts_are_noticed():
    one, other = (parse(raw) for raw in sent([event(job="a.b"), event(job="a.c")]))
    kinds = {found.kind for found in in_parts([one, other], 2).findings()}
    assert "run-two-jobs" in kinds


def test_two_servers_that_parts_see_one_each_are_a_collision():
    events = [
        parse(raw)
        for raw in sent([event(outputs=[dataset("d.s.t", f"postgres://{host}:5432")]) for host in ("alpha", "beta")])
    ]
    assert [found.kind for found in in_parts(events, 2).findings() if found.kind == "collision"] == ["collision"]


def test_a_sample_of_samples_keeps_the_same_keys_as_one_sample():
    def sample(keys):
        found = Sample(8, Counter)
        for key in keys:
            note = found.at(key)
            if note is not None:
                note[key] += 1
        return found

    keys = [f"key {number}" for number in range(200)]
    one, two, both = sample(keys[:100]), sample(keys[100:]), sample([])
    both.take(one.notes())
    both.take(two.notes())
    assert both.share <= min(one.share, two.share)
    kept = dict(both.items())
    assert 0 < len(kept) <= 8
    assert all(note == {key: 1} for key, note in kept.items())
