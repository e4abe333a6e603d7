"""What the checks of the pipeline found in staging."""

from __future__ import annotations

from openlineage.client.facet_v2 import data_quality_assertions_dataset, data_quality_metrics_input_dataset, test_run

Assertion = data_quality_assertions_dataset.Assertion

ORDERS = [
    Assertion("not_null", success=True, column="order_id", severity="error", name="order_id_is_there"),
    Assertion("unique", success=True, column="order_id", severity="error", name="order_id_is_unique"),
    Assertion(
        "accepted_values",
        success=False,
        column="status",
        severity="warn",
        name="status_is_known",
        description="An order is placed, shipped, delivered or returned.",
        expected="0",
        actual="1",
        content="select count(*) from staging.orders where status not in ('placed', 'shipped', 'delivered', 'returned')",
        contentType="sql",
        params={"values": ["placed", "shipped", "delivered", "returned"]},
    ),
    Assertion(
        "accepted_range",
        success=False,
        column="amount",
        severity="warn",
        name="amount_is_no_loss",
        expected=">=0",
        actual="-5.0",
        params={"min_value": 0},
    ),
    Assertion("row_count", success=True, severity="error", name="orders_came", expected=">=1", actual="20"),
]
CUSTOMERS = [
    Assertion("not_null", success=True, column="customer_id", severity="error", name="customer_id_is_there"),
    Assertion(
        "unique",
        success=False,
        column="email_hash",
        severity="error",
        name="email_hash_is_unique",
        expected="0",
        actual="2",
    ),
    Assertion("row_count", success=True, severity="error", name="customers_came", expected=">=1", actual="8"),
]


def assertions(table: str) -> data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet:
    """Results for `orders` or `customers`."""
    return data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(ORDERS if table == "orders" else CUSTOMERS)


def tests() -> test_run.TestRunFacet:
    """The same results for `customers`, as the run tells them."""
    return test_run.TestRunFacet(
        [
            test_run.TestExecution(
                name=one.name or one.assertion,
                status="pass" if one.success else "fail",
                severity=one.severity,
                type=one.assertion,
                expected=one.expected,
                actual=one.actual,
            )
            for one in CUSTOMERS
        ],
    )


def metrics() -> data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet:
    """Figures of the staged orders."""
    return data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
        columnMetrics={
            "order_id": data_quality_metrics_input_dataset.ColumnMetrics(nullCount=0, distinctCount=20),
            "amount": data_quality_metrics_input_dataset.ColumnMetrics(
                nullCount=0,
                distinctCount=20,
                sum=1489.3,
                count=20.0,
                min=-5.0,
                max=144.8,
                quantiles={"0.25": 41.9, "0.5": 78.65, "0.75": 111.725},
            ),
            "note": data_quality_metrics_input_dataset.ColumnMetrics(nullCount=15, distinctCount=1),
        },
        rowCount=20,
        bytes=16384,
        lastUpdated="2026-11-21T02:03:21.909Z",
    )
