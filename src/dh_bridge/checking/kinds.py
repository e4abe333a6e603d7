"""The kinds of findings: the title of each, its harm, and the remedy where no setting is proposed."""

from __future__ import annotations

from typing import NamedTuple


class FindingKind(NamedTuple):
    """What people read about all findings of one kind."""

    title: str
    harm: str
    remedy: str = ""


KINDS: dict[str, FindingKind] = {
    "invalid-event": FindingKind(
        "Invalid events",
        "The event, or the named field of it, is not written to DataHub.",
        "Fix the sender. `dh-bridge emit --dead-letters FILE` saves rejected events.",
    ),
    "invalid-proposal": FindingKind(
        "Invalid proposals",
        "DataHub rejects the proposal, or cuts a text of it.",
        "Fix the program that writes the proposal, or pass the version of your server with --datahub-version.",
    ),
    "name-per-run": FindingKind(
        "Job names that change with every run",
        "Each run creates another flow and another job in DataHub. None of them has a history.",
        "Set a fixed name in the sender, such as `spark.openlineage.appName`.",
    ),
    "staging-folder": FindingKind(
        "Staging folders",
        "Each run creates datasets that no later run uses, and lineage ends at them.",
        "List the folders in `temporary.datasets`. Lineage then skips them.",
    ),
    "temporary-table": FindingKind(
        "Temporary tables",
        "Tables that exist only during a run become datasets.",
        "List the tables in `temporary.datasets`. Lineage then skips them.",
    ),
    "part-file": FindingKind(
        "Part files",
        "Each file of a folder becomes a dataset.",
        "Add a rule to `naming.rules` that renames the files to their folder.",
    ),
    "dated-name": FindingKind(
        "Dates in names of datasets",
        "Each day, or each run, creates another dataset.",
        "Add a rule to `naming.rules` that renames them to one name.",
    ),
    "query-name": FindingKind(
        "Queries as names of datasets",
        "The sender names a query instead of the tables that the query reads. These inputs are missing in the lineage.",
        "Let the job read tables, or update the sender's OpenLineage library.",
    ),
    "incomplete-name": FindingKind(
        "Names that lack a level",
        "A connector of DataHub writes the same table under its full name, so that lineage and table are not connected.",
    ),
    "short-name": FindingKind(
        "Tables under a short and a full name",
        "One table becomes two datasets, and its lineage breaks.",
    ),
    "double-name": FindingKind(
        "Tables under several names",
        "One table becomes several datasets, and its lineage breaks.",
        "Choose one name for the table, and add a rule to `naming.rules` for the others.",
    ),
    "collision": FindingKind(
        "Servers with the same tables",
        "Tables of two servers become one dataset, with the lineage of both.",
    ),
    "two-installations": FindingKind(
        "Run ids of several installations",
        "Runs of two installations become one run.",
    ),
    "one-namespace": FindingKind(
        "Job namespaces that are one installation",
        "Each job exists once for each namespace.",
    ),
    "one-location": FindingKind(
        "Dataset namespaces that are one server",
        "Rules for one address do not apply to the other one. Datasets of unknown systems exist twice.",
    ),
    "dotted-flow": FindingKind(
        "Flows with a dot in the name",
        "The flow is read as a job of another flow.",
    ),
    "two-names": FindingKind(
        "dbt nodes under several names",
        "One dbt node becomes several jobs.",
    ),
    "project-number": FindingKind(
        "Google projects by number",
        "BigQuery connectors use the project id, so that lineage and table are not connected.",
    ),
    "unknown-namespace": FindingKind(
        "Datasets of unknown platforms",
        "The datasets have the platform `unknown`, or a guessed one.",
    ),
    "unknown-producer": FindingKind(
        "Jobs of unknown producers",
        "The jobs have the platform `openlineage`.",
    ),
    "two-platforms": FindingKind(
        "Jobs on two platforms",
        "One job becomes two jobs.",
        "Add a rule with `platform` to `identity.rules`.",
    ),
    "run-two-jobs": FindingKind(
        "Runs with two jobs",
        "Two jobs send the same run id, and share one run in DataHub.",
        "Fix the sender: each run needs its own run id.",
    ),
    "run-without-end": FindingKind(
        "Runs without an end",
        "DataHub shows the runs as running for ever.",
        "Check whether the sender was stopped, or its last events were lost.",
    ),
}
"""Kind -> what people read about it; the most harmful kind first."""

_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}


def rank_of(kind: str) -> int:
    """Return the position of a kind in the report."""
    return _RANKS.get(kind, len(KINDS))
