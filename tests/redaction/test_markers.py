"""Thousands of secrets, of every shape and in every place, leave no trace in what is sent, stored, reported or said."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from support.secret_markers import PLACES, URLS, dataset, event, facet, marker, planted, statements, texts
from support.stored_bytes import log_events, stored_bytes, table_values

from dh_bridge import Bridge, Settings
from dh_bridge.cli import commands
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.errors import EventError
from dh_bridge.openlineage.parsing import parse_event

PLANTED = list(planted())
LEAST = 1_500


def whole(event):
    """Return a run: without its START nothing is known of it but its end."""
    return [{**event, "eventType": "START"}, event]


def written(translation):
    return b"".join(map(ndjson_line, translation.proposals))


def has(data, secret):
    """Whether a secret is in bytes, as it was planted or in lower case, as names of some systems are written."""
    return secret.encode() in data or secret.lower().encode() in data


def urns(translation):
    return sorted({one.entity_urn for one in translation.proposals})


def leaks(plants, bridge):
    return [(one.place, one.shape) for one in plants if has(written(bridge.translate(whole(one.event))), one.marker)]


def test_markers_are_in_no_proposal():
    assert len(PLANTED[::3]) > LEAST
    assert leaks(PLANTED[::3], Bridge()) == []


@pytest.mark.slow
def test_no_marker_at_all_is_in_a_proposal():
    assert leaks(PLANTED, Bridge()) == []


def test_markers_come_through_where_nothing_is_masked():
    """Otherwise the other tests would promise nothing."""
    plants = [one for one in PLANTED[::9] if one.place != "source code"]  # of that only the hash is kept
    assert len(leaks(plants, Bridge(Settings(redaction="off")))) > 0.95 * len(plants)


def test_markers_are_in_no_report():
    bridge = Bridge()
    for one in PLANTED[::7]:
        translation = bridge.translate(whole(one.event), report=True)
        lines = json.dumps(list(translation.report.lines())).encode()
        assert not has(lines, one.marker), (one.place, one.shape)


def test_markers_are_in_no_proposal_of_the_newest_version():
    bridge = Bridge(Settings(datahub_version="1.7", optional_metadata=["queries"]))
    for one in PLANTED[::5]:
        translation = bridge.translate(whole(one.event))
        assert not has(written(translation), one.marker), (one.place, one.shape)


def test_strict_mode_masks_them_too():
    bridge = Bridge(Settings(redaction="strict"))
    for one in PLANTED[::11]:
        assert not has(written(bridge.translate(whole(one.event))), one.marker), (one.place, one.shape)


def test_mode_off_masks_nothing():
    bridge = Bridge(Settings(redaction="off"))
    secret = marker()
    for made in (PLACES["job description"], PLACES["job name"], PLACES["error message"]):
        assert has(written(bridge.translate(whole(made(f"password={secret}")))), secret)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of the files that two deliveries leave: catalogue, ledger, proposals, reports, dead letters."""
    folder = tmp_path_factory.mktemp("markers")
    lines = [json.dumps(stated) for one in PLANTED[::6] for stated in whole(one.event)]
    lines += [json.dumps({**one.event, "eventTime": None}) for one in PLANTED[::40]]
    lines += [f"no JSON, {text}".replace("\n", " ") for _, text, _ in BROKEN]
    events = folder / "events.in"
    events.write_text("\n".join(lines), encoding="utf-8")
    for number, target in enumerate(
        (
            ["catalog:" + str(folder / "shop.db")],
            ["file:" + str(folder / "out.ndjson"), "--ledger", str(folder / "ledger.db")],
        )
    ):
        command = [
            "emit",
            str(events),
            "--to",
            *target,
            "--report",
            str(folder / f"report{number}"),
            "--dead-letters",
            str(folder / f"dead{number}"),
        ]
        result = CliRunner().invoke(commands, command, catch_exceptions=False)
        (folder / f"said{number}").write_text(result.output, encoding="utf-8")
    events.unlink()
    return folder


BROKEN = texts()[::4]
MIN_LENGTH = 12
"""Letters and digits of a marker that is one word, at least."""


def is_word(secret):
    return len(secret) >= MIN_LENGTH and secret.isascii() and secret.isalnum()


@pytest.mark.parametrize(
    "name", ["shop.db", "ledger.db", "out.ndjson", "report0", "report1", "dead0", "dead1", "said0", "said1"]
)
def test_markers_are_in_no_file(folder, name):
    is_database = name.endswith(".db")
    data = (
        stored_bytes(folder / name) if is_database else b"".join(file.read_bytes() for file in folder.glob(f"{name}*"))
    )
    assert data
    secrets = [one.marker for one in PLANTED] + [secret for _, _, secret in BROKEN]
    # a file repeats most of its words: each is searched once
    words = b"\n".join(set(re.findall(rb"[0-9A-Za-z]{%d,}" % MIN_LENGTH, data)))
    assert [secret for secret in secrets if has(words if is_word(secret) else data, secret)] == []


def test_search_covers_what_is_compressed(folder):
    """Otherwise the test above would promise nothing about states and logged events."""
    assert b"openlineage" in b"".join(table_values(folder / "ledger.db"))
    assert any(b'"eventType"' in text for text in log_events(folder / "ledger.db"))


def test_dead_letter_is_an_event_still(folder):
    rows = [json.loads(line) for line in (folder / "dead0").read_text(encoding="utf-8").splitlines()]
    events = [row["event"] for row in rows if row["event"].startswith("{")]
    assert events
    assert all(json.loads(text)["run"]["runId"] for text in events)


@pytest.mark.parametrize("text", URLS)
def test_error_of_a_time_shows_no_secret(text):
    secret = marker()
    raw = json.dumps({**event(), "eventTime": text.replace("{}", secret)}).encode()
    with pytest.raises(EventError) as caught:
        parse_event(raw, "here")
    assert secret not in str(caught.value)
    assert secret[:10] not in str(caught.value)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("place", ["dataset namespace", "dataset name", "job namespace", "job name"])
def test_urn_stays_when_a_password_changes(place, url):
    bridge = Bridge()
    runs = [PLACES[place](url.replace("{}", marker())) for _ in range(2)]
    for one in runs:
        one["run"]["runId"] = "00000000-0000-4000-8000-00000000000a"
        if place.startswith("job"):
            one["job"]["name"] = one["job"]["name"] if place == "job name" else "load"
        for output in one["outputs"]:
            output["name"] = output["name"] if place == "dataset name" else "a.b.c"
        if place.startswith("dataset"):
            one["job"]["name"] = "load"
    assert urns(bridge.translate(runs[0])) == urns(bridge.translate(runs[1]))


def test_urn_of_a_dataset_is_the_one_without_its_password():
    bridge = Bridge()
    plain = event(outputs=[dataset("postgres://db:5432", "shop.public.t")], job_name="load")
    secret = event(outputs=[dataset(f"postgres://ann:{marker()}@db:5432", "shop.public.t")], job_name="load")
    secret["run"] = plain["run"]
    assert urns(bridge.translate(plain)) == urns(bridge.translate(secret))


def test_ties_are_broken_without_the_secret():
    def proposals_of(secrets, order):
        events = [
            event(job={"documentation": facet(description=f"{name} password={secret}"), "ownership": facet(owners=[{"name": name}])}, job_name="load")
            for name, secret in zip("ab", secrets, strict=True)
        ]  # fmt: skip
        for one in events:
            one["run"]["runId"] = "00000000-0000-4000-8000-00000000000b"
        return written(Bridge().translate([events[number] for number in order]))

    results = {proposals_of((marker(), marker()), order) for order in ((0, 1), (1, 0)) for _ in range(5)}
    assert len(results) == 1


def test_statement_keeps_what_is_no_secret():
    (shape, text, secret), *_ = statements()
    found = written(Bridge().translate(event(job={"sql": facet(query=text)})))
    assert b"ALTER ROLE u PASSWORD '***'" in found
    assert not has(found, secret), shape
