"""Events without a run: what the catalogue says about a job and about datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import places as p
import shop
from openlineage.client.event_v2 import DatasetEvent, Job, JobEvent
from openlineage.client.facet_v2 import (
    data_quality_metrics_dataset,
    dataset_version_dataset,
    documentation_dataset,
    documentation_job,
    hierarchy_dataset,
    job_type_job,
    lineage,
    ownership_dataset,
    ownership_job,
    sql_job,
    tags_dataset,
)

if TYPE_CHECKING:
    from openlineage.client.client import Event

WHEN = "2026-11-21T01:30:00.000+00:00"
VIEW = "create view mart.best_days as select day, sum(revenue) as revenue from mart.daily_revenue group by day"
BEST_DAYS = p.Place(shop.WAREHOUSE, "shop.mart.best_days", (("day", "DATE"), ("revenue", "NUMERIC(14,2)")), "VIEW")


def tell(diary: list[Event]) -> None:
    """Note the JobEvent and the DatasetEvents."""
    diary.append(view())
    diary.extend(DatasetEvent(eventTime=WHEN, dataset=dataset) for dataset in (daily_revenue(), customers(), topic()))


def view() -> JobEvent:
    """A view of the warehouse is a job that never runs; its lineage is declared, as table and as columns."""
    source = {"namespace": p.DAILY_REVENUE.namespace, "name": p.DAILY_REVENUE.name, "type": "DATASET"}

    def entry(column: str, subtype: str) -> lineage.LineageFieldEntry:
        change = lineage.LineageTransformation("DIRECT", subtype)
        return lineage.LineageFieldEntry(
            [lineage.LineageDatasetInput(**source, field=column, transformations=[change])]
        )

    declared = lineage.LineageDatasetEntry(
        namespace=BEST_DAYS.namespace,
        name=BEST_DAYS.name,
        type="DATASET",
        inputs=[lineage.LineageDatasetInput(**source)],
        fields={"day": entry("day", "IDENTITY"), "revenue": entry("revenue", "AGGREGATION")},
    )
    facets = {
        "jobType": job_type_job.JobTypeJobFacet("BATCH", "POSTGRES", "VIEW"),
        "documentation": documentation_job.DocumentationJobFacet("The view behind the chart of best days."),
        "ownership": ownership_job.OwnershipJobFacet([ownership_job.Owner("user:ada@shop.example", "OWNER")]),
        "sql": sql_job.SQLJobFacet(VIEW, "postgres"),
        "lineage": lineage.LineageJobFacet([declared]),
    }
    return JobEvent(
        eventTime=WHEN,
        job=Job(shop.NAMESPACE, "warehouse_views.best_days", facets=facets),
        inputs=[p.DAILY_REVENUE.read()],
        outputs=[BEST_DAYS.write()],
    )


def daily_revenue() -> Any:
    """The mart as its owners describe it."""
    levels = zip(("DATABASE", "SCHEMA", "TABLE"), p.DAILY_REVENUE.name.split("."), strict=True)
    return p.DAILY_REVENUE.described(
        documentation=documentation_dataset.DocumentationDatasetFacet(
            "What was sold, **by day** and country.", "text/markdown"
        ),
        ownership=ownership_dataset.OwnershipDatasetFacet(
            [
                ownership_dataset.Owner("team:finance", "OWNER"),
                ownership_dataset.Owner("user:ada@shop.example", "STEWARD"),
            ],
        ),
        tags=tags_dataset.TagsDatasetFacet(
            [
                tags_dataset.TagsDatasetFacetFields("certified", "true", "CATALOG"),
                tags_dataset.TagsDatasetFacetFields("domain", "finance", "CATALOG"),
                tags_dataset.TagsDatasetFacetFields("currency", "EUR", "CATALOG", "revenue"),
            ],
        ),
        hierarchy=hierarchy_dataset.HierarchyDatasetFacet(
            [hierarchy_dataset.HierarchyDatasetFacetLevel(kind, name) for kind, name in levels],
        ),
        dataQualityMetrics=data_quality_metrics_dataset.DataQualityMetricsDatasetFacet(
            columnMetrics={
                "revenue": data_quality_metrics_dataset.ColumnMetrics(
                    nullCount=0,
                    distinctCount=61,
                    sum=8420.75,
                    count=64.0,
                    min=12.5,
                    max=611.2,
                    quantiles={"0.25": 48.1, "0.5": 102.3, "0.75": 187.9},
                ),
                "country": data_quality_metrics_dataset.ColumnMetrics(nullCount=0, distinctCount=8),
            },
            rowCount=64,
            bytes=8192,
            fileCount=1,
            lastUpdated="2026-11-20T02:09:41.000Z",
            captureDate=WHEN,
        ),
        version=dataset_version_dataset.DatasetVersionDatasetFacet("2026-11-20"),
    )


def customers() -> Any:
    """The shop's customers: where the personal data is, and that the warehouse gets it from here."""
    return p.STAGING_CUSTOMERS.described(
        tags=tags_dataset.TagsDatasetFacet(
            [
                tags_dataset.TagsDatasetFacetFields("pii", "true", "CATALOG", "name"),
                tags_dataset.TagsDatasetFacetFields("pii", "hashed", "CATALOG", "email_hash"),
            ],
        ),
        ownership=ownership_dataset.OwnershipDatasetFacet([ownership_dataset.Owner("team:crm", "OWNER")]),
        lineage=lineage.LineageDatasetFacet(
            inputs=[lineage.LineageDatasetInput(p.RAW_CUSTOMERS.namespace, p.RAW_CUSTOMERS.name, "DATASET")],
            fields={
                "email_hash": lineage.LineageFieldEntry(
                    [
                        lineage.LineageDatasetInput(
                            p.RAW_CUSTOMERS.namespace,
                            p.RAW_CUSTOMERS.name,
                            "DATASET",
                            "email",
                            [lineage.LineageTransformation("DIRECT", "TRANSFORMATION", masking=True)],
                        ),
                    ],
                ),
            },
        ),
    )


def topic() -> Any:
    """The topic, described by the team that writes it."""
    return p.TOPIC.described(
        documentation=documentation_dataset.DocumentationDatasetFacet(
            "One message per change of an order; key: order_id."
        ),
        ownership=ownership_dataset.OwnershipDatasetFacet([ownership_dataset.Owner("team:shop", "PRODUCER")]),
    )
