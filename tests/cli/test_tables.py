"""``dh-bridge systems`` and ``dh-bridge facets``: the tables are made of mappings and modules."""

from __future__ import annotations

import json

from dh_bridge.bundled import mapping_files
from dh_bridge.translation.facets import specs


def test_every_naming_file_is_a_row(run):
    rows = [json.loads(line) for line in run("systems", "--json").stdout.splitlines()]
    assert [row["id"] for row in rows] == [path.stem for path in mapping_files("naming")]
    assert all(row["namespace"] for row in rows)
    postgres = next(row for row in rows if row["id"] == "postgres")
    assert (postgres["platform"], postgres["name"]) == ("postgres", "{database}.{schema}.{*table}")


def test_systems_for_people_have_a_head_and_a_line_each(run):
    lines = run("systems").stdout.splitlines()
    assert lines[0].split() == ["system", "platform", "namespace", "name"]
    assert len(lines) == 1 + sum(1 for _ in mapping_files("naming"))


def test_folder_of_ones_own_mappings_adds_a_system(run, tmp_path):
    folder = tmp_path / "mine" / "naming"
    folder.mkdir(parents=True)
    source = next(path for path in mapping_files("naming") if path.stem == "postgres")
    (folder / "attic.yaml").write_text(source.read_text().replace("id: postgres", "id: attic"))
    rows = [json.loads(line) for line in run("systems", "--json", "--set", "mappings=mine").stdout.splitlines()]
    assert "attic" in [row["id"] for row in rows]


def test_every_facet_is_a_row_with_its_targets(run):
    rows = [json.loads(line) for line in run("facets", "--json").stdout.splitlines()]
    assert len(rows) == len(specs())
    ownership = [row for row in rows if row["facet"] == "ownership"]
    assert {row["at"] for row in ownership} == {"job", "dataset"}
    assert all(row["targets"][0] == "ownership" for row in ownership)


def test_facets_for_people_have_a_head_and_a_line_each(run):
    lines = run("facets").stdout.splitlines()
    assert lines[0].split() == ["facet", "at", "since", "targets"]
    assert len(lines) == 1 + len(specs())
