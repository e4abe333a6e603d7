"""``spark batch --dry-run`` delivers nothing; a server is asked only for its version."""

from __future__ import annotations

import pytest
from support.gms import Gms

from dh_bridge import Settings
from dh_bridge.cli.spark_targets import prepare_delivery
from dh_bridge.cli.summary import CommandOutcome


@pytest.mark.parametrize("target", ["catalog:c.db", "ndjson:lines", "parquet:lines", "file:out.json"])
def test_nothing_is_made(target, tmp_path):
    with CommandOutcome() as outcome:
        settings, deliver = prepare_delivery(target, Settings(), outcome, None, dry_run=True)
        deliver(None, None)
    assert settings == Settings()
    assert outcome.delivered_count == 0
    assert list(tmp_path.iterdir()) == []


def test_unknown_target_is_refused_before_spark_starts(run, monkeypatch):
    monkeypatch.setattr("dh_bridge.cli.spark._open_session", None)
    for command in (("batch",), ("stream", "--checkpoint", "state")):
        result = run("spark", *command, "--events", ".", "--to", "proposals")
        assert result.exit_code == 2
        assert "--to: unknown target 'proposals' (write parquet:DIR, ndjson:DIR, or use one of file:" in result.stderr


def test_dry_run_reads_the_server_version_and_writes_nothing(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms, CommandOutcome() as outcome:
        settings, deliver = prepare_delivery(f"rest:{gms.url}", Settings(), outcome, None, dry_run=True)
        deliver(None, None)
        assert settings.datahub_version == "1.4.0"
        assert gms.writes == []
