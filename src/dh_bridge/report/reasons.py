"""Why fields of events are dropped: each reason of a report, with its meaning.

A reason is a name, or a name and a detail after a colon: ``duplicate-of:run.runId``. The list has an entry for each name. Where the
details are fixed, it has an entry for each of them, too. `dh-bridge explain --reasons` and docs/reasons.md show the list.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """A reason.

    Attributes:
        name: the reason as reports have it; ``…`` stands for a detail.
        meaning: a sentence for the user.
        is_loss: whether the event loses information. It does not if the field is empty, repeats another field, or only describes
            the facet.
    """

    name: str
    meaning: str
    is_loss: bool = True


_DETAIL = "…"

_NO_LOSS = (
    Reason("envelope", "The field describes the facet itself: `_producer` and `_schemaURL`.", is_loss=False),
    Reason("empty", "The value is an empty text, object or list.", is_loss=False),
    Reason("empty:null", "The value is null.", is_loss=False),
    Reason("empty:zero", "The value is 0 where 0 means that nothing was measured.", is_loss=False),
    Reason(
        f"duplicate-of:{_DETAIL}",
        "The value repeats another field, which is stored. The detail names that field.",
        is_loss=False,
    ),
)
_LOSSES = (
    Reason(
        "bulk",
        "The facet is large and repeats what other facets state, such as `spark.logicalPlan`. Its size and hash are stored.",
    ),
    Reason("plan", "The facet is a query plan. Its size, hash and number of nodes are stored."),
    Reason("too-large", "The value, or the list that contains it, is larger than DataHub or the bridge accepts."),
    Reason("malformed", "The value does not have the form that the specification of the facet requires."),
    Reason("non-serializable", "The producer could not write the value as JSON and sent a placeholder for it."),
    Reason("secret", "The value looks like a secret, so it is masked."),
    Reason(f"policy:{_DETAIL}", "A setting excludes the field. The detail names the setting."),
    Reason("pending-terminal", "The run has not ended. The aspect is written with its last event."),
    Reason("replaced", "A later event of the run states another value."),
    Reason(
        "phantom", "The name is not the name of a dataset, such as an empty name or a temporary result of the producer."
    ),
    Reason("ephemeral", "The dataset exists only during the run, such as an ephemeral dbt model."),
    Reason("no-dataset", "The field belongs to a dataset, but the event does not name one."),
    Reason("no-such-column", "The column is not in the schema of the dataset."),
    Reason("schema-owned", "Another writer owns the schema of the dataset (`schema.write: if_absent`)."),
    Reason("profile", "The DataHub version that is written for does not know the aspect."),
    Reason(f"filtered:{_DETAIL}", "A filter of the settings drops it. The detail names the rule."),
    Reason("cut", "The text is stored, but only its beginning: DataHub's search index limits its length."),
)
_BY_SETTING = {
    "assertions.warn_as": "The setting decides how the severity `warn` is written.",
    "column_lineage.indirect": "Indirect column lineage (filter, join, sort …) is off.",
    "debezium_config": "The facet repeats the configuration of the connector. Only its identity is stored.",
    "excluded_metadata": "The setting excludes metadata of this kind.",
    "dbt.statements": "The statement belongs to the run of its node.",
    "airflow.remote_logs": "Files of Airflow's remote logging are not datasets.",
    "identity.granularity": "The facts of this run are written to the run that contains it.",
    "identity.mode": "The tool of DataHub that `identity.mode` names writes this aspect itself, or does not write it.",
    "inmemory": "The dataset is a table in memory of one process.",
    "materialize": "The setting `materialize` does not create entities for datasets.",
    "naming.unknown": "The setting rejects datasets of unknown systems.",
    "query": "The dataset is the text of a query.",
    "redaction": "`redaction: strict` stores no values of this kind.",
    "schema.write": "The setting decides whether schemas are written.",
    "state=none": "The target has no ledger and is not read, so nothing can be merged or deleted there.",
    "subset.literals": "Literals in conditions are not stored.",
    "tags.exclude": "The setting excludes the tag.",
    "temporary": "Temporary datasets are dropped.",
    "writes": "The setting `writes` excludes the aspect.",
}
_WITHOUT_FIELD = {
    "a dataset has no run": "Runs are not stored with datasets.",
    "a dataset is not its own upstream": "A dataset is not its own upstream.",
    "a job has no columns": "DataHub stores column lineage between datasets only.",
    "branches of a union have no names and no order": "DataHub stores only the types of a union.",
    "cosmetic": "The value only changes how the producer's own page looks.",
    "frame": "The fields are those of a data frame, not of the stored dataset.",
    "hidden-column": "The column is internal to the table format.",
    "implied by the key": "The source of a tag is part of the tag's key.",
    "inside a container": "DataHub stores no fields inside this type.",
    "inside a recursive type": "The type is recursive; it is written once.",
    "job shared by many queries": "The job represents many queries, so it has no lineage of its own.",
    "metadata-table": "The fields are those of a metadata table, not of the dataset.",
    "neither IDENTITY nor MASKED": "The deprecated field has a value that is not defined.",
    "no input column": "The transformation has no input column.",
    "no inputs": "The output has no inputs to which lineage could lead.",
    "no job": "The event states no job that is written.",
    "no result": "The test has no result.",
    "no run": "The event has no run.",
    "no tags": "Aspects of this kind have no tags.",
    "no upstream tasks": "The task has no upstream tasks.",
    "not a number": "The metric is not a number.",
    "not part of OpenLineage's envelope": "OpenLineage does not define the field.",
    "not set for every column": "Positions are stored only if every column has one.",
    "placeholder job": "The job has a placeholder for a name, so it is not written.",
    "placeholder owner": "The owner is a default of the producer.",
    "projection": "The fields are a part of the columns.",
    "skipped": "The check was skipped, so it has no result.",
    "the condition of the other side": "The condition belongs to another dataset.",
    "the default of a description": "The text is a default of the producer.",
    "the facet is deleted": "The same facet is deleted (`_deleted`).",
    "the job itself": "A job is not its own upstream.",
    "untyped-projection": "The fields have no types: they are the columns that a job reads.",
}

REASONS: tuple[Reason, ...] = (
    *_LOSSES,
    *(Reason(f"policy:{setting}", meaning) for setting, meaning in _BY_SETTING.items()),
    *(Reason(f"no-field:{detail}", meaning) for detail, meaning in _WITHOUT_FIELD.items()),
    *_NO_LOSS,
)
"""All reasons: losses, losses by setting, values without a field in DataHub, and fields that are no loss."""

_BY_NAME = {reason.name: reason for reason in REASONS}


def find_reason(text: str) -> Reason | None:
    """Return the entry of a reason of a report; None for an unknown one."""
    name, _, detail = text.partition(":")
    return _BY_NAME.get(text) or (_BY_NAME.get(f"{name}:{_DETAIL}") if detail else None)


def is_loss(text: str | None) -> bool:
    """Return whether a field that is dropped for this reason is a loss."""
    reason = find_reason(text or "")
    return reason is None or reason.is_loss
