"""Names of an event's datasets: which datasets are left out, and which are temporary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.naming.datasets import dataset_name, enumerate_datasets, is_airflow_log, is_phantom, skip_name
from dh_bridge.naming.name import TEMPORARY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.facet_support.context import EventDataset, FacetContext, Role
    from dh_bridge.filters import Filters
    from dh_bridge.model.run_state import RunState
    from dh_bridge.naming import Name, Naming
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.options import Options

#: Placeholders that are not datasets, and their name in summaries.
_AIRFLOW_LOG = "policy:airflow.remote_logs"
_COUNTED_SKIPS = {
    _AIRFLOW_LOG: "airflow.remote_logs",
    "policy:query": "name: a query",
    "no-dataset": "name: a database or server alone",
}


class DatasetNames:
    """Finds the names of datasets for one configuration.

    ``filters`` counts the datasets that are left out.
    """

    def __init__(self, options: Options, filters: Filters) -> None:
        self._options = options
        self._filters = filters

    def event_datasets(self, event: Event, ctx: FacetContext) -> list[EventDataset]:
        """Return the datasets of an event that are not left out, with their names; inputs first."""
        if event.dataset is not None:
            entries = list(self._named_datasets([event.dataset], "dataset", "$.dataset", ctx))
        else:
            entries = [
                *self._named_datasets(event.inputs, "input", "$.inputs", ctx),
                *self._named_datasets(event.outputs, "output", "$.outputs", ctx),
            ]
        if not ctx.assertion_platform:
            producer = self._options.identity.producer(ctx.sender)
            ctx.assertion_platform = producer.platform if producer is not None else "unknown"
            ctx.assertion_label = (producer.assertion_label if producer is not None else None) or "check"
        return entries

    def _named_datasets(
        self, datasets: Iterable[Dataset], role: Role, base_path: str, ctx: FacetContext
    ) -> Iterator[EventDataset]:
        drops_logs = (
            ctx.job is not None
            and ctx.job.platform == "airflow"
            and self._options.settings.airflow.remote_logs == "drop"
        )
        for position, dataset in enumerate_datasets(datasets, ctx.naming):
            path = base_path if role == "dataset" else f"{base_path}[{position}]"
            refusal = None if self._filters.is_empty else self._filters.rule_for_dataset(dataset)
            if refusal is not None:
                ctx.path = path
                ctx.note_dropped("", f"filtered:{refusal}")
                # its columns are not to come in by a facet of another dataset
                ctx.aliases[dataset.namespace, dataset.name] = skip_name(
                    ctx.naming(dataset.namespace, dataset.name), f"filtered:{refusal}"
                )
                continue
            name = dataset_name(dataset, ctx.naming, keep_ephemeral=self._options.keep_ephemeral)
            if (
                role == "output"
                and ctx.job is not None
                and ctx.job.platform == "dbt"
                and is_phantom(dataset, ctx.event)
            ):
                name = skip_name(name, "phantom")
            if drops_logs and is_airflow_log(dataset):
                name = skip_name(name, _AIRFLOW_LOG)
            ctx.aliases[dataset.namespace, dataset.name] = name
            if name.skip is not None:
                ctx.path = path
                ctx.note_dropped("", name.skip)
                if name.skip.startswith("filtered"):
                    self._filters.count(name.skip.partition(":")[2].strip())
                elif name.skip in _COUNTED_SKIPS:
                    self._filters.count(_COUNTED_SKIPS[name.skip])
                continue
            if name.notes and (gap := name.gap) and gap not in ctx.event.notes:
                ctx.event.notes += (gap,)
            if ctx.notes is not None:
                ctx.path = path
                ctx.note_dataset("", name.endpoint)
            yield dataset, name, role, path

    def mentioned_name(self, state: RunState, naming: Naming, namespace: str, name: str) -> Name:
        """Return the name of a dataset that only a facet mentions: filters hold for it too."""
        mention = naming(namespace, name)
        refusal = self._filters.rule_for_mention(namespace, name)
        if refusal is not None:
            return skip_name(mention, f"filtered:{refusal}")
        if mention.endpoint is not None and self.is_temporary(namespace, name, mention):
            state.collapsed_urns |= {mention.endpoint}
        return mention

    def is_temporary(self, namespace: str, sent_name: str, name: Name) -> bool:
        """Return whether a dataset is temporary by its name: lineage skips it."""
        return self._filters.is_temporary(namespace, sent_name, is_known=TEMPORARY_NAME in name.notes)
