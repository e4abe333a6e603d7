"""A server of each version takes everything that is written for it: nothing is refused, nothing is trimmed.

The stand-in refuses what DataHub's own server code refuses: entities and aspects of later versions, fields of later schemas,
patches in the form of another version.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gms import PATCH_FORMS, VERSIONS, Gms, RefusedError, patch_form
from support.ledger_batches import read
from support.public_data import needs_corpus
from support.sample_events import corpus, dataset, event, examples

from dh_bridge import Bridge, Settings
from dh_bridge.datahub.generic_aspect import patch_value
from dh_bridge.datahub.proposal import patch
from dh_bridge.delivery import open_target
from dh_bridge.openlineage.read import read_events

GOLDEN = Path(__file__).parents[1] / "golden"


def golden():
    """Return the events of every golden case."""
    return list(read_events([str(path) for path in sorted(GOLDEN.rglob("*.events.json"))]))


def captured():
    """Return the captured events of real producers beside the golden cases."""
    return list(read_events([str(GOLDEN / "events")]))


EVENTS = [
    pytest.param(examples, id="examples"),
    pytest.param(golden, id="golden cases"),
    pytest.param(captured, id="captured events"),
    pytest.param(corpus, id="corpus", marks=[needs_corpus, pytest.mark.slow]),
]


def delivered(events, gms):
    """Translate events for a server, deliver them, and return how many proposals arrived and the reasons of the others."""
    destination = open_target(f"rest:{gms.url}", Settings(), environ={"HOME": "/nowhere"})
    bridge = Bridge(destination.settings)
    arrived, reasons = 0, []
    with destination.sink as sink:
        for translation in bridge.stream(events):
            assert translation.rejected == []
            delivery = sink.emit(translation.proposals)
            arrived += delivery.delivered_count
            reasons += [f"{each.proposal.aspect_name}: {each.reason}" for each in delivery.failures]
    return arrived, reasons


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("events", EVENTS)
def test_server_accepts_everything_written_for_its_version(tmp_path, version, events):
    with Gms(tmp_path / "gms.db", version=version) as gms:
        gms.strict = True
        arrived, reasons = delivered(events(), gms)
        assert reasons == []
        assert gms.trimmed == []
        assert arrived == len(gms.proposals) > 500
        assert all(request.path.endswith("Batch") for request in gms.writes)


@pytest.mark.parametrize("aspect", ["dataJobInfo", "datasetProperties"])
def test_uncut_text_is_rejected_by_the_search_index(tmp_path, aspect):
    facets = {"documentation": {"description": "é" * 20_000}}
    one = event("COMPLETE", job_facets=facets, outputs=[dataset("d.s.t", facets=facets)])
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        gms.strict = True
        assert delivered(read([one]), gms)[1] == []
        whole = next(each for each in gms.proposals if each.aspect_name == aspect)
        next(each for each in whole.value if each["path"] == "/description")["value"] = "é" * 20_000
        with open_target(f"rest:{gms.url}", Settings(), environ={"HOME": "/nowhere"}).sink as sink:
            (failure,) = sink.emit([whole]).failures
        assert failure.reason == "HTTP 422: the search index takes no term of 40000 bytes: description"


@pytest.mark.parametrize("version", VERSIONS)
def test_simulated_server_accepts_a_form_of_each_patch(version):
    """Else the tests above would not show which form is sent."""
    taken = {(aspect, form) for aspect, form in PATCH_FORMS if takes(version, aspect, form)}
    assert {aspect for aspect, _ in taken} == {aspect for aspect, _ in PATCH_FORMS}
    plain = {form for _, form in taken if form == ""}
    assert bool(plain) is (version not in ("1.5.0.5", "1.7.0"))


def takes(version, aspect, form):
    try:
        Gms.look_at_form(aspect, _body(aspect, form), version)
    except RefusedError:
        return False
    return True


def _body(aspect, form):
    if aspect == "editableSchemaMetadata":
        path = f"/editableSchemaFieldInfo/id/globalTags/tags/urn:li:tag:x{form}"
        return [{"op": "add", "path": path, "value": {"tag": "urn:li:tag:x"}}]
    return {"arrayPrimaryKeys": {"any": form.split()}, "patch": []} if form else []


@pytest.mark.parametrize(
    ("aspect", "path"),
    [
        ("ownership", "/owners/urn:li:corpuser:ann/DATAOWNER"),
        ("globalTags", "/tags/urn:li:tag:x"),
        ("glossaryTerms", "/terms/urn:li:glossaryTerm:x"),
        ("editableSchemaMetadata", "/editableSchemaFieldInfo/id/globalTags/tags/urn:li:tag:x"),
    ],
)
def test_forms_of_patches_are_those_of_the_table(aspect, path):
    operations = patch("dataset", "urn:li:dataset:x", aspect, [{"op": "remove", "path": path}]).value
    forms = [patch_form(aspect, patch_value(aspect, operations, keyed=keyed)) for keyed in (False, True)]
    assert forms[0] == ""
    assert forms[1] != ""
    assert {(aspect, form) for form in forms} <= PATCH_FORMS.keys()
