"""Every real event, under several of DataHub's versions: no crash, nothing refused, and what others say of each aspect."""

from __future__ import annotations

import json
import os
import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.corrupted_events import documents, scribbled, spoilt
from support.oracles import apache_finding, fastavro_finding, sdk_finding
from support.public_data import needs_corpus
from support.sample_events import corpus, event, examples

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.patching import AspectDraft
from dh_bridge.datahub.profiles import known_profiles, profile
from dh_bridge.datahub.proposal import ndjson_line

PROFILES = ("0.15.0", "1.3", "1.7")
ORACLES = {"fastavro": fastavro_finding, "Apache": apache_finding, "acryl-datahub": sdk_finding}


@cache
def bridge(version):
    return Bridge(Settings(datahub_version=version))


def translations(events, version):
    """Yield translations of each event alone, of each with a START before it, and of all together."""
    for one in events:
        yield bridge(version).translate(one)
        if one.kind == "run" and one.type != "START":
            start = event("START", "1990-01-01T00:00:00Z", run=one.run_id, namespace=one.namespace, job=one.name)
            yield bridge(version).translate([{**start, "producer": one.producer}, one])
    yield bridge(version).translate(list(events), report=True)


def sound(translation):
    assert translation.rejected == []
    assert translation.dead == []
    return translation


@needs_corpus
@pytest.mark.parametrize("version", known_profiles())
def test_corpus_events_give_valid_proposals_for_every_version(version):
    assert len(corpus()) > 300
    assert sum(len(sound(one).proposals) for one in translations(corpus(), version)) > 3000


@pytest.mark.parametrize("version", known_profiles())
def test_example_events_give_valid_proposals_for_every_version(version):
    assert len(examples()) > 100
    assert sum(len(sound(one).proposals) for one in translations(examples(), version)) > 1000


# -- what others say -------------------------------------------------------------------------------------------------


def aspects(events, version):
    """Yield each distinct aspect of the proposals as a whole value; PATCHes are applied as DataHub's server does."""
    seen = set()
    for translation in translations(events, version):
        drafts = {}
        for proposal in sound(translation).proposals:
            line = ndjson_line(proposal)
            if line in seen:
                continue
            seen.add(line)
            value = proposal.value
            if proposal.change_type == "PATCH":
                key = proposal.entity_urn, proposal.aspect_name
                draft = drafts.setdefault(key, AspectDraft(proposal.aspect_name, None))
                draft.apply(value)
                value = draft.value()
            yield proposal.entity_type, proposal.aspect_name, value


def findings(events, version):
    problems, checked = [], list(aspects(events, version))
    for entity_type, aspect, value in checked:
        for name, oracle in ORACLES.items():
            finding = oracle(entity_type, aspect, value, profile(version))
            if finding is not None:
                problems.append((name, aspect, finding))
    return len(checked), problems


@needs_corpus
@pytest.mark.parametrize("version", PROFILES)
def test_avro_libraries_accept_the_proposals_of_the_corpus(version):
    count, problems = findings(corpus(), version)
    assert problems == []
    assert count > 2000


@pytest.mark.parametrize("version", PROFILES)
def test_avro_libraries_accept_the_proposals_of_the_examples(version):
    count, problems = findings(examples(), version)
    assert problems == []
    assert count > 1000


# -- hostile input ---------------------------------------------------------------------------------------------------

SPOILT = int(os.environ.get("TESTS_SPOILT", "800"))
"""Spoilt events of each kind; `make faults` has more."""


@settings(max_examples=SPOILT, deadline=None)
@given(seed=st.integers(0, 2**48), version=st.sampled_from(PROFILES), report=st.booleans())
def test_corrupted_event_yields_valid_proposals_or_dead_letter(seed, version, report):
    chance = random.Random(seed)  # noqa: S311 - hypothesis chooses the seed
    document = chance.choice(documents())
    events = [json.dumps(spoilt(document, chance)).encode() for _ in range(chance.choice((1, 2)))]
    if chance.random() < 0.3:
        events.append(json.dumps({**document, "eventType": "START"}).encode())
    translation = bridge(version).translate(events, report=report)
    assert translation.rejected == []
    assert len(translation.dead) <= len(events)
    assert all(letter.reason and letter.raw for letter in translation.dead)


@settings(max_examples=SPOILT, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_spoilt_bytes_never_raise(seed):
    chance = random.Random(seed)  # noqa: S311 - hypothesis chooses the seed
    raw = scribbled(chance.choice(examples()).raw, chance)
    assert bridge("1.7").translate(raw, report=True).rejected == []


@pytest.mark.parametrize("depth", [100, 400, 900, 980, 2000, 100_000])
@pytest.mark.parametrize("key", ["anything", "tags", "parent", "schema", "sql"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"password":', "}")])
def test_deeply_nested_json_spoils_only_its_facet_or_event(depth, key, opening, closing):
    nested = opening * depth + "1" + closing * depth
    raw = json.dumps(event(run_facets={key: {"secret": "HERE"}})).replace('"HERE"', nested).encode()
    other = json.dumps(event(run="other")).encode()
    translation = bridge("1.7").translate([raw, raw, other], report=True)
    assert len(translation.dead) in (0, 2)
    assert "urn:li:dataProcessInstance" in translation.proposals[-1].entity_urn
