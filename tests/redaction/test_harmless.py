"""Texts and names that only resemble secrets stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.secret_markers import PLACES, dataset, event, facet, planted

from dh_bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.masking import EventMasker
from dh_bridge.redaction import is_secret_name, redact, redact_json, redact_texts

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
    stated = event(
        inputs=[dataset(name="s.p.source")],
        outputs=[dataset(schema=facet(fields=fields), columnLineage=facet(fields=lineage))],
    )
    found = b"".join(map(ndjson_line, Bridge().translate(stated).proposals)).decode()
    assert "***" not in found
    assert "[REDACTED]" not in found
    for name in COLUMNS:
        assert f"the {name} of the user" in found
        assert f",{name})" in found


def test_text_is_redacted_once():
    stated = [
        "password=hunter2x",
        "postgres://ann:hunter2@db/x",
        "Bearer abcdef123456",
        '{"token": "x1y2z3"}',
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    ]
    for text in stated:
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


def is_clean(document, *, ensure_ascii=True):
    """Return whether a column facet is left as it is; with ``ensure_ascii`` its JSON has escapes."""
    data = json.dumps(document, ensure_ascii=ensure_ascii).encode()
    return EventMasker(is_enabled=True)._is_clean_facet("schema", data)


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_clean_document_is_one_that_masking_leaves_equal(ensure_ascii):
    documents = [one.event for one in planted()] + [{"fields": [{"name": f"\u00e9 {text}"}]} for text in LINES]
    clean = [document for document in documents if is_clean(document, ensure_ascii=ensure_ascii)]
    assert [redact_texts(document) for document in clean] == clean
    assert clean == [document for document in documents if redact_texts(document) == document]
    assert len(clean) >= len(LINES)
    assert not is_clean({"fields": [{"description": f"password=hunter2{'a1B2' * 5}"}]}, ensure_ascii=ensure_ascii)


def test_texts_are_found_at_any_depth():
    masker = EventMasker(is_enabled=True)
    for text, clean in (("b", True), ("password=hunter2a1B2", False)):
        for escape in ("", "\\n"):
            assert masker._is_clean_facet("schema", f'{{"a": {"[" * 70}"{escape}{text}"{"]" * 70}}}'.encode()) is clean
