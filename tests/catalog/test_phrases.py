"""Phrases of stored aspects: each value is read as it was written, by the catalogue and by SQL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.catalog.phrases import _PHRASES_BY_ASPECT, PHRASES, expand, shorten
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.datahub.proposal import upsert

EXAMPLES = Path(__file__).parents[2] / "examples" / "events"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.orders,PROD)"
json_values = st.recursive(
    st.one_of(st.text(), st.sampled_from(PHRASES), st.integers(-9, 9), st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4) | st.sampled_from(PHRASES), inner, max_size=4)
    ),
    max_leaves=9,
)


def test_phrases_fit_into_the_control_characters():
    assert len(PHRASES) == len(set(PHRASES)) <= 31
    assert all(ord(sign) > 31 for phrase in PHRASES for sign in phrase)
    assert {code for codes in _PHRASES_BY_ASPECT.values() for code in codes} == set(range(1, len(PHRASES) + 1))


@given(value=json_values, aspect=st.sampled_from([*_PHRASES_BY_ASPECT, "status"]))
def test_each_value_is_read_as_it_was_written(value, aspect):
    encoded = msgspec.json.encode(value)
    assert expand(shorten(aspect, encoded)) == encoded


@given(parts=st.lists(st.sampled_from(PHRASES) | st.text(st.characters(min_codepoint=32)), max_size=6))
def test_any_text_is_restored(parts):
    text = "".join(parts).encode()
    for aspect in _PHRASES_BY_ASPECT:
        assert expand(shorten(aspect, text)) == text


@pytest.fixture(scope="module")
def examples_catalogue(tmp_path_factory):
    path = tmp_path_factory.mktemp("phrases") / "c.db"
    result = CliRunner().invoke(commands, ["emit", str(EXAMPLES), "--to", f"catalog:{path}"])
    assert result.exit_code == 0, result.output
    return path


def test_sql_reads_plain_json_without_an_extension(examples_catalogue):
    plain = sqlite3.connect(f"file:{examples_catalogue}?mode=ro", uri=True)
    rows = plain.execute("SELECT urn, aspect, value FROM aspects").fetchall()
    with Catalog(examples_catalogue, readonly=True) as catalog:
        assert all(msgspec.json.decode(value) == catalog.aspect(urn, aspect) for urn, aspect, value in rows)
    assert len(rows) > 400
    names = "SELECT value ->> '$.fields[0].fieldPath' FROM aspects WHERE aspect = 'schemaMetadata' AND urn LIKE '%mart.daily_revenue%'"
    assert plain.execute(names).fetchone() == ("day",)
    plain.close()


def test_schemas_and_lineage_of_real_producers_are_less_than_half(examples_catalogue):
    with Catalog(examples_catalogue, readonly=True) as catalog:
        query = "SELECT value FROM aspect WHERE name IN ('schemaMetadata', 'dataJobInputOutput')"
        values = [value for (value,) in catalog.connection.execute(query)]
    assert 2 * sum(map(len, values)) < sum(len(expand(value)) for value in values)


def test_patch_changes_a_shortened_aspect(catalog):
    properties = {"customProperties": {"openlineage.name": "a", "other": "\x01\x02"}, "tags": []}
    catalog.apply([upsert("dataset", ORDERS, "datasetProperties", properties)])
    (stored,) = catalog.connection.execute("SELECT value FROM aspect").fetchone()
    assert stored != expand(stored)
    before = catalog.connection.total_changes
    catalog.apply([upsert("dataset", ORDERS, "datasetProperties", properties)])
    assert catalog.connection.total_changes == before
    assert catalog.aspect(ORDERS, "datasetProperties") == properties
