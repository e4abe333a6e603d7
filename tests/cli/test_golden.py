"""``golden``: golden files of a user, under the user's settings."""

from __future__ import annotations

import json

import pytest

EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2024-05-01T10:00:00Z",
    "producer": "https://example.com/me",
    "run": {"runId": "01890d3e-0000-7000-8000-000000000001"},
    "job": {"namespace": "n", "name": "j"},
    "outputs": [{"namespace": "postgres://db:5432", "name": "shop.public.orders"}],
}


@pytest.fixture
def case(tmp_path, run):
    """Return a golden case that was written by an update."""
    folder = tmp_path / "golden" / "shop"
    folder.mkdir(parents=True)
    (folder / "load.events.json").write_text(json.dumps([EVENT, EVENT]))
    result = run("golden", "golden", "--update")
    assert (result.exit_code, result.stdout) == (0, "written  golden/shop/load.events.json\n")
    return folder


def test_case_that_was_written_is_the_same_afterwards(run, case):
    assert (case / "load.proposals.ndjson").read_bytes().count(b"\n") > 3
    for flags in ((), ("--update",)):
        result = run("golden", "golden", *flags)
        assert (result.exit_code, result.stdout) == (0, "same     golden/shop/load.events.json\n")


def test_golden_difference_is_shown_by_field_with_exit_code_1(run, case):
    (case / "load.events.json").write_text(json.dumps({**EVENT, "eventType": "FAIL"}))
    result = run("golden", "golden")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "differs  golden/shop/load.events.json"
    assert '    - result.type: "SUCCESS"' in lines
    assert '    + result.type: "FAILURE"' in lines
    assert "1 of 1 cases differ" in result.stderr


def test_settings_of_the_user_count(run, case, tmp_path):
    assert run("golden", "golden", "--set", "naming.env=DEV").exit_code == 1
    (tmp_path / "dh_bridge.yml").write_text("naming:\n  env: DEV\n")
    assert run("golden", "golden").exit_code == 1
    assert run("golden", "golden", "--update").stdout.startswith("written")
    assert b",DEV)" in (case / "load.proposals.ndjson").read_bytes()
    assert run("golden", "golden").exit_code == 0


@pytest.mark.parametrize("flags", [(), ("--update",)])
def test_golden_case_with_an_invalid_event_always_differs(run, case, flags):
    (case / "odd.events.json").write_text('{"eventTime": 1}\n')
    result = run("golden", "golden", *flags)
    assert result.exit_code == 1
    assert "  ! golden/shop/odd.events.json" in result.stdout


def test_folder_without_cases_is_wrong_usage(run, tmp_path):
    (tmp_path / "none").mkdir()
    result = run("golden", "none")
    assert result.exit_code == 2
    assert "no golden cases" in result.stderr
