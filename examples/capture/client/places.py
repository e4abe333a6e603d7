"""The datasets of the shop, from the topic to the mart, with what is known about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import shop
from openlineage.client.event_v2 import InputDataset, OutputDataset, StaticDataset
from openlineage.client.facet_v2 import (
    catalog_dataset,
    column_lineage_dataset,
    dataset_type_dataset,
    datasource_dataset,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
)

# Subtypes of a transformation that move no values from one column to the other.
INDIRECT = {"JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"}


@dataclass(frozen=True)
class Place:
    """A dataset: its two names, its columns as (name, type, description, nested columns) and its other facets."""

    namespace: str
    name: str
    columns: tuple[tuple[Any, ...], ...] = ()
    kind: str = "TABLE"
    file_format: str | None = None
    glue: str | None = None  # name of the table in the Glue catalogue that stands for these files

    def read(self, input_facets: dict[str, Any] | None = None, **facets: Any) -> InputDataset:
        """Return the dataset as an input."""
        return InputDataset(self.namespace, self.name, facets=self.facets() | facets, inputFacets=input_facets or {})

    def write(self, output_facets: dict[str, Any] | None = None, **facets: Any) -> OutputDataset:
        """Return the dataset as an output."""
        return OutputDataset(self.namespace, self.name, facets=self.facets() | facets, outputFacets=output_facets or {})

    def described(self, **facets: Any) -> StaticDataset:
        """Return the dataset as the subject of a DatasetEvent."""
        return StaticDataset(self.namespace, self.name, facets=self.facets() | facets)

    def facets(self) -> dict[str, Any]:
        """Facets that every event about the dataset carries."""
        facets: dict[str, Any] = {
            "dataSource": datasource_dataset.DatasourceDatasetFacet(name=self.namespace, uri=self.namespace),
            "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(datasetType=self.kind),
        }
        if self.columns:
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields(self.columns))
        if self.file_format:
            facets["storage"] = storage_dataset.StorageDatasetFacet(storageLayer="s3", fileFormat=self.file_format)
        if self.glue:
            facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(
                identifiers=[symlinks_dataset.Identifier(GLUE, self.glue, "TABLE")],
            )
            facets["catalog"] = catalog_dataset.CatalogDatasetFacet(
                framework="hive",
                type="glue",
                name="shop_lake",
                metadataUri="https://glue.eu-central-1.amazonaws.com",
                warehouseUri=shop.S3,
                source="pipeline",
            )
        return facets


def fields(columns: tuple[tuple[Any, ...], ...]) -> list[schema_dataset.SchemaDatasetFacetFields]:
    """Columns as the schema facet has them, nested ones inside."""
    return [
        schema_dataset.SchemaDatasetFacetFields(
            name=name,
            type=kind,
            description=rest[0] if rest else None,
            ordinal_position=position,
            fields=fields(rest[1]) if len(rest) > 1 else [],
        )
        for position, (name, kind, *rest) in enumerate(columns, 1)
    ]


def column_lineage(
    columns: dict[str, list[tuple[Place, str, str]]],
    whole: list[tuple[Place, str, str]] | None = None,
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """Column lineage from `{column: [(place, column, subtype)]}`; `whole` names what every column depends on.

    The subtype `MASKED` means a transformation that hides the value.
    """

    def source(place: Place, column: str, subtype: str) -> column_lineage_dataset.InputField:
        masked = subtype == "MASKED"
        change = column_lineage_dataset.Transformation(
            type="INDIRECT" if subtype in INDIRECT else "DIRECT",
            subtype="TRANSFORMATION" if masked else subtype,
            description="sha256 of the lower-cased value" if masked else "",
            masking=masked,
        )
        return column_lineage_dataset.InputField(place.namespace, place.name, column, [change])

    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: column_lineage_dataset.Fields(inputFields=[source(*item) for item in sources])
            for name, sources in columns.items()
        },
        dataset=[source(*item) for item in whole or []],
    )


def copied(place: Place, *columns: str) -> dict[str, list[tuple[Place, str, str]]]:
    """Column lineage of a plain copy."""
    return {column: [(place, column, "IDENTITY")] for column in columns}


GLUE = "arn:aws:glue:eu-central-1:123456789012"

_ORDER = (
    ("order_id", "BIGINT", "Number of the order, given by the shop"),
    ("customer_id", "BIGINT", "Who ordered"),
    ("ordered_at", "TIMESTAMP WITH TIME ZONE", "When the order was placed"),
    ("status", "VARCHAR(16)", "placed, shipped, delivered or returned"),
    ("amount", "NUMERIC(12,2)", "What the order costs, in euro"),
    ("note", "TEXT"),
)
_CUSTOMER = (
    ("customer_id", "BIGINT", "Number of the customer"),
    ("name", "VARCHAR(80)"),
    ("email", "VARCHAR(120)", "Where the bills go"),
    ("country", "CHAR(2)", "ISO 3166 code"),
    ("signed_up", "DATE"),
)
_MESSAGE = (
    ("order_id", "long", "Number of the order, given by the shop"),
    ("ordered_at", "long", "Milliseconds since 1970"),
    ("status", "string"),
    ("amount", "double", "What the order costs, in euro"),
    ("note", "string"),
    ("customer", "record", "Who ordered", (("id", "long"), ("country", "string"))),
    (
        "items",
        "array",
        "What was ordered",
        (("sku", "string"), ("quantity", "int"), ("price", "double", "Price of one, in euro")),
    ),
)

APP_ORDERS = Place(shop.APP_DB, "app.public.orders", _ORDER)
APP_CUSTOMERS = Place(shop.APP_DB, "app.public.customers", _CUSTOMER)
TOPIC = Place(shop.KAFKA, "shop.orders", _MESSAGE, kind="TOPIC")
RAW_ORDERS = Place(shop.S3, "raw/orders", _MESSAGE, "FILE", "parquet", "table/raw/orders")
RAW_CUSTOMERS = Place(shop.S3, "raw/customers", _CUSTOMER, "FILE", "parquet", "table/raw/customers")
STAGING_ORDERS = Place(shop.WAREHOUSE, "shop.staging.orders", _ORDER)
STAGING_CUSTOMERS = Place(
    shop.WAREHOUSE,
    "shop.staging.customers",
    tuple(("email_hash", "CHAR(64)", "Hash of the address") if row[0] == "email" else row for row in _CUSTOMER),
)
DAILY_REVENUE = Place(
    shop.WAREHOUSE,
    "shop.mart.daily_revenue",
    (
        ("day", "DATE", "Day of the order, UTC"),
        ("country", "CHAR(2)", "ISO 3166 code"),
        ("orders", "BIGINT", "Orders that were not returned"),
        ("revenue", "NUMERIC(14,2)", "Sum of the amounts, in euro"),
    ),
)
LOYALTY = Place(
    shop.WAREHOUSE, "shop.mart.loyalty", (("customer_id", "BIGINT"), ("points", "INTEGER", "Points earned so far"))
)
LOYALTY_NEW = Place(shop.WAREHOUSE, "shop.mart.loyalty_new", LOYALTY.columns)
LOYALTY_OLD = Place(shop.WAREHOUSE, "shop.mart.loyalty_old")
LAKE_ORDERS = Place("file", f"{shop.LAKE}/raw/orders", _ORDER, "FILE")
LAKE_CUSTOMERS = Place("file", f"{shop.LAKE}/raw/customers.csv", _CUSTOMER, "FILE")
DUCKDB_ORDERS = Place(shop.DUCKDB, "shop.raw.orders", _ORDER)
DUCKDB_CUSTOMERS = Place(shop.DUCKDB, "shop.raw.customers", _CUSTOMER)
