"""Texts and names that only resemble secrets stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.secret_markers import PLACES, dataset, event, facet, planted

from dh_bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.redaction import is_clean_document, is_secret_name, redact, redact_json, redact_texts

LINES = (Path(__file__).parent / "harmless.txt").read_text(encoding="utf-8").splitlines()
NAMES = (Path(__file__).parent / "harmless_names.txt").read_text(encoding="utf-8").splitlines()
COLUMNS = ["password_hash", "token", "secret_key", "password", "api_key", "auth_token", "credentials"]


@pytest.mark.parametrize("line", LINES)
def test_harmless_text_stays(line):
    assert redact(line) == line


@pytest.mark.parametrize("name", NAMES)
def test_harmless_name_hides_nothing(name):
    assert not is_secret_name(name)
    assert redact_json({name: "a value of 5 words"}) == {name: "a value of 5 words"}


def test_harmless_texts_are_in_proposals_as_they_were_sent():
    bridge = Bridge()
    masks = []
    for place in (
        "job description",
        "dataset description",
        "column description",
        "Spark value",
        "dataset name",
        "error message",
    ):
        for line in LINES:
            if "***" in line or "[REDACTED]" in line or "****" in line:
                continue
            found = b"".join(map(ndjson_line, bridge.translate(PLACES[place](line)).proposals))
            if b"***" in found or b"[REDACTED]" in found:
                masks.append((place, line))
    assert masks == []


def test_columns_with_names_of_secrets_stay():
    fields = [{"name": name, "type": "string", "description": f"the {name} of the user"} for name in COLUMNS]
    lineage = {
        name: {"inputFields": [{"namespace": "postgres://db:5432", "name": "s.p.source", "field": name}]}
        for name in COLUMNS
    }
    said = event(
        inputs=[dataset(name="s.p.source")],
        outputs=[dataset(schema=facet(fields=fields), columnLineage=facet(fields=lineage))],
    )
    found = b"".join(map(ndjson_line, Bridge().translate(said).proposals)).decode()
    assert "***" not in found
    assert "[REDACTED]" not in found
    for name in COLUMNS:
        assert f"the {name} of the user" in found
        assert f",{name})" in found


def test_text_is_redacted_once():
    said = [
        "password=hunter2x",
        "postgres://ann:hunter2@db/x",
        "Bearer abcdef123456",
        '{"token": "x1y2z3"}',
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    ]
    for text in said:
        assert redact(redact(text)) == redact(text) != text


def test_masked_text_stays_when_it_is_masked_again():
    texts = {text for one in planted() for text in strings(one.event)}
    assert len(texts) > 1_000
    assert [text for text in texts if redact(redact(text)) != redact(text)] == []


def strings(value):
    """Yield every text of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from strings(member)


def test_prose_stays_and_tokens_do_not():
    prose = ["the time of the order", "", "how many were sold"]
    assert redact_json(prose) == prose
    assert redact_json([]) == []
    token = "ghp_" + "a1B2" * 9
    assert token not in redact(f"cloned with {token} at night")
    assert redact_json(["a", f"Bearer {token}"]) == ["a", "Bearer [REDACTED]"]
    assert json.dumps(redact_json({"a": [1, None, True]})) == '{"a": [1, null, true]}'


def test_a_clean_document_is_one_that_masking_leaves_equal():
    documents = [one.event for one in planted()] + [{"fields": [{"name": text}]} for text in LINES]
    clean = [document for document in documents if is_clean_document(document)]
    assert [redact_texts(document) for document in clean] == clean
    assert len(clean) >= len(LINES)
    assert not is_clean_document({"fields": [{"description": f"password=hunter2{'a1B2' * 5}"}]})


def test_a_document_that_is_nested_too_deep_is_not_called_clean():
    document = {"a": "b"}
    for _ in range(70):
        document = {"a": [document]}
    assert not is_clean_document(document)
    assert redact_texts(document) == document
