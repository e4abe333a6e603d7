"""SQL functions for the URNs of datasets, jobs and runs, by the settings of a translation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.stages import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike


def register(spark: SparkSession, settings: SettingsLike = None) -> None:
    """Register SQL functions in a session. They return null for a null, and for a name that no URN can be made of.

    - ``dataset_urn(namespace, name)``: the URN that a job's inputs and outputs are written under.
    - ``job_urn(namespace, name)`` and ``job_urn(namespace, name, producer)``: the URN of a job, of the ``producer`` of its event.
    - ``run_urn(namespace, name, run_id)``: the URN of a run of a job.

    Args:
        spark: The session.
        settings: The settings: ``naming`` and ``identity`` are read.

    Example:
        ``functions.register(session); session.sql("SELECT dataset_urn('s3://lake', 'raw/orders')")``
    """
    from pyspark.sql.pandas import functions as pandas_functions  # noqa: PLC0415 - an optional extra

    pandas_udf: Any = pandas_functions.pandas_udf  # its hints know up to ten columns
    resolved_settings = settings_of(settings)
    for name, urn_of in (("dataset_urn", _dataset_urn), ("job_urn", _job_urn), ("run_urn", _run_urn)):
        spark.udf.register(name, pandas_udf(_vectorised(resolved_settings, urn_of), "string"))


def _vectorised(settings: Settings, urn_of: Callable[..., str | None]) -> Callable[..., Any]:
    """Return the function of columns; it travels to the workers with the settings as JSON."""
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - comes with the extra

    step = Step(settings)

    def urns(*columns: Any) -> Any:
        return pd.Series(_urns(partial(urn_of, step), zip(*columns, strict=True)), dtype=object)

    urns.__annotations__.update(
        {"columns": pd.Series, "return": pd.Series}
    )  # PySpark reads the kind of function in them
    return urns


def _urns(urn_of: Callable[..., str | None], rows: Iterable[tuple[Any, ...]]) -> list[str | None]:
    """Return the URN of each row; equal rows are resolved once."""
    urn_by_row: dict[tuple[Any, ...], str | None] = {}
    urns = []
    for row in rows:
        if row not in urn_by_row:
            try:
                urn_by_row[row] = urn_of(*row) if all(isinstance(part, str) for part in row) else None
            except BridgeError:
                urn_by_row[row] = None
        urns.append(urn_by_row[row])
    return urns


def _dataset_urn(step: Step, namespace: str, name: str) -> str | None:
    dataset = step.bridge.options.naming(namespace, name)
    return None if dataset.refusal is not None or dataset.skip else dataset.endpoint


def _job_urn(step: Step, namespace: str, name: str, producer: str | None = None) -> str | None:
    job = step.bridge.options.identity.job(namespace, name, producer)
    return None if job.placeholder or job.skip else job.job_urn


def _run_urn(step: Step, namespace: str, name: str, run_id: str) -> str | None:
    return step.bridge.options.identity.run_urn(namespace, name, run_id)
