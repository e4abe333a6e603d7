"""The doctor: says what is there and what is missing, and never faints."""

from __future__ import annotations

import sqlite3
import subprocess
from importlib import metadata

import pytest
from support.gms import Gms

from dh_bridge import doctor
from dh_bridge.doctor import MISSING, OK, WRONG, Diagnostic, diagnose
from dh_bridge.settings.loading import Flag


@pytest.fixture(autouse=True)
def _no_settings_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("URL", "HOST", "TOKEN"):
        monkeypatch.delenv(f"DATAHUB_GMS_{name}", raising=False)


def _by_subject(*arguments):
    return {finding.subject: finding for finding in diagnose(*arguments)}


def test_healthy_installation_has_nothing_wrong():
    found = diagnose()
    assert [finding for finding in found if finding.status == WRONG] == []
    assert {finding.area for finding in found} == {"versions", "files", "extras", "java", "settings", "connections"}


def test_core_requirements_are_listed_with_their_versions():
    found = _by_subject()
    for name in ("click", "msgspec", "orjson", "pydantic", "pyyaml", "rich"):
        assert found[name].found == metadata.version(name)


def test_absent_extras_are_missing_with_an_install_hint(monkeypatch):
    there = metadata.version

    def version(name):
        if name in (
            "acryl-datahub",
            "confluent-kafka",
            "great-expectations",
            "pyspark",
            "pyarrow",
            "requests",
            "waitress",
        ):
            raise metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(metadata, "version", version)
    found = _by_subject()
    for extra in ("datahub", "kafka", "spark", "server", "great-expectations"):
        assert found[extra].status == MISSING
        assert f"pip install 'dh-bridge[{extra}]'" in found[extra].remedy
    assert "not installed: confluent-kafka" in found["kafka"].found


def test_extra_that_is_there_or_needs_nothing_is_not_missing(monkeypatch):
    of_its_own = "great-expectations>=1.2; (python_version < '3.14') and extra == 'great-expectations'"
    monkeypatch.setattr(metadata, "requires", lambda _: ["click>=8.1", of_its_own])
    monkeypatch.setattr(metadata, "version", lambda _: "1.6.1")
    found = _by_subject()
    assert found["great-expectations"][2:4] == (OK, "great-expectations 1.6.1")
    assert found["airflow"][2:4] == (OK, "no further package is required")


def test_plain_checkout_has_no_requirements_to_compare(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    found = _by_subject()
    assert "click" not in found
    assert found["kafka"].found == "not installed: all of it"


def test_absent_core_requirement_is_wrong(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda _: ["no-such-thing>=1"])
    found = _by_subject()["no-such-thing"]
    assert (found.status, found.remedy) == (WRONG, "pip install no-such-thing")


def test_old_sqlite_is_wrong(monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 7, 0))
    assert _by_subject()["SQLite"].status == WRONG


def test_no_java_is_only_missing(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _by_subject()["Java"].status == MISSING
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jre"))
    assert f"JAVA_HOME={tmp_path / 'jre'}" in _by_subject()["Java"].found


@pytest.mark.parametrize(
    ("script", "status", "found"),
    [
        ("#!/bin/sh\necho 'openjdk version \"17.0.9\" 2023' >&2\n", OK, "17.0.9 ("),
        ("#!/bin/sh\necho hm\n", OK, "unknown version ("),
        ("#!/no/such/shell\n", MISSING, "cannot run"),
    ],
)
def test_java_is_asked_for_its_version(script, status, found, tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(script)
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    finding = _by_subject()["Java"]
    assert finding.status == status
    assert found in finding.found


def test_java_that_hangs_is_missing(monkeypatch):
    def run(command, **_):
        raise subprocess.TimeoutExpired(command, 20)

    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: "/usr/bin/java")
    monkeypatch.setattr(subprocess, "run", run)
    assert "timed out" in _by_subject()["Java"].found


def test_wrong_settings_are_findings(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text("windw: 1\n")
    found = _by_subject(file)
    assert found[f"{file}:1"].status == WRONG
    assert found[f"{file}:1"].remedy == "did you mean `window`?"


def test_profile_is_looked_up(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text("datahub_version: '1.4'\n")
    assert _by_subject(file)["datahub_version"].found == "DataHub 1.4"
    file.write_text("datahub_version: '0.9'\n")
    assert _by_subject(file)["datahub_version"].status == WRONG


def test_missing_files_are_wrong(monkeypatch, tmp_path):
    monkeypatch.setattr("dh_bridge.bundled.MAPPINGS", tmp_path / "none")
    assert _by_subject()["mappings"].status == WRONG


def test_folder_of_ones_own_mappings_is_counted(tmp_path):
    (tmp_path / "mine" / "naming").mkdir(parents=True)
    file = tmp_path / "mine.yml"
    file.write_text("mappings: mine\n")

    def own():
        return next(one for one in diagnose(file) if (one.area, one.subject) == ("settings", "mappings"))

    assert own()[2:4] == (MISSING, f"0 files in {tmp_path / 'mine'}")
    (tmp_path / "mine" / "naming" / "attic.yaml").write_bytes(
        (doctor.bundled.MAPPINGS / "naming/trino.yaml").read_bytes()
    )
    assert own()[2:] == (OK, f"1 files in {tmp_path / 'mine'}", "")
    file.write_text("mappings: other\n")
    (found,) = [one for one in diagnose(file) if one.status == WRONG]
    assert "is not a folder" in found.found


def test_setting_that_only_a_translation_would_refuse_is_wrong():
    flag = Flag("naming.rules", "[{namespace: x, rename: '{y}'}]", "--set")
    (found,) = [one for one in diagnose(flags=[flag]) if one.status == WRONG]
    assert (found.subject, found.found) == ("naming.rules[0].rename", "unknown part: y")


def test_fault_of_the_doctor_is_a_finding(monkeypatch):
    def explode():
        raise RuntimeError("boom")

    monkeypatch.setattr(doctor, "_java", explode)
    assert _by_subject()["fault"].found == "RuntimeError: boom"


@pytest.fixture
def gms(tmp_path, monkeypatch):
    with Gms(tmp_path / "gms.db", version="1.4.0.2", token="good") as server:  # noqa: S106 - none
        monkeypatch.setenv("DATAHUB_GMS_URL", server.url)
        monkeypatch.setenv("DATAHUB_GMS_TOKEN", "good")
        yield server


def connections(**options):
    return [finding for finding in diagnose(**options) if finding.area == "connections"]


def test_configured_server_is_named_and_left_alone(gms):
    assert connections() == [
        Diagnostic("connections", "rest", OK, gms.url, "run dh-bridge doctor --connect to test the connection")
    ]
    assert gms.requests == []


def test_server_is_asked_who_it_is_when_somebody_wants_to_know(gms):
    assert connections(connect=True) == [
        Diagnostic("connections", "rest", OK, f"{gms.url}: DataHub 1.4.0.2, written for DataHub 1.4")
    ]


@pytest.mark.parametrize(
    "url", ["http://h:1?token=hunter2", "http://me:hunter2@h:1", "http://h:1/#hunter2", "h:hunter2"]
)
def test_refused_address_is_wrong_and_hides_its_secrets(url, monkeypatch):
    monkeypatch.setenv("DATAHUB_GMS_URL", url)
    (found,) = connections()
    assert found.status == WRONG
    assert "address" in found.found
    assert "hunter2" not in f"{found.found}{found.remedy}"


def test_token_that_the_server_does_not_take_is_wrong(gms, monkeypatch):
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "old")
    (found,) = connections(connect=True)
    assert found.status == WRONG
    assert "HTTP 401" in found.found
    assert "old" not in found.found
    assert "a personal access token that has not expired" in found.remedy
    assert found.remedy not in found.found  # said once
    assert gms.requests[-1].path != "/config"


def test_file_of_datahub_that_is_broken_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".datahubenv").write_text("gms: {")
    (found,) = connections()
    assert (found.status, "it is not YAML" in found.found) == (WRONG, True)
