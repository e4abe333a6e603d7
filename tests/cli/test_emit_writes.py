"""``emit`` with a ledger and ``writes``: what the list leaves out is counted, and sent when the list is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gms import Gms

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "spark.ndjson")


@pytest.mark.parametrize("again", [EVENTS, "none.ndjson"])
def test_aspects_left_out_by_writes_are_sent_after_its_removal(run, gms, tmp_path, again):
    (tmp_path / "none.ndjson").write_text("")
    (tmp_path / "dh_bridge.yml").write_text("writes: {aspects: [status, dataJobInfo]}")
    to = ("--to", f"rest:{gms.url}", "--ledger", "ledger.db")
    first = run("emit", EVENTS, *to)
    assert first.exit_code == 0, first.stderr
    assert "left out by writes.aspects: dataJobInputOutput: " in first.stderr
    assert {one.aspect_name for one in gms.proposals} == {"dataJobInfo"}
    (tmp_path / "dh_bridge.yml").unlink()
    second = run("emit", again, *to)
    assert second.exit_code == (0 if again == EVENTS else 1), second.stderr  # 1: there is no event in the file
    assert "left out" not in second.stderr
    with Gms(tmp_path / "other.db", version="1.4.0") as other:
        run("emit", EVENTS, "--to", f"rest:{other.url}", "--ledger", "other_ledger.db")
        assert gms.dump() == other.dump()
    assert len(gms.proposals) == len(other.proposals)


def test_dry_run_counts_what_the_list_leaves_out(run, gms, tmp_path):
    (tmp_path / "dh_bridge.yml").write_text("writes: {aspects: [status, dataJobInfo]}")
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--ledger", "ledger.db", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "left out by writes.aspects: dataJobInputOutput: " in result.stderr
