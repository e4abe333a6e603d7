"""What the shop knows of its customers: features from a file, one computed on demand, a service for a model."""

from datetime import timedelta

import pandas as pd
from feast import Entity, FeatureService, FeatureView, Field, FileSource, RequestSource, ValueType
from feast.on_demand_feature_view import on_demand_feature_view
from feast.types import Float64, Int64

customer = Entity(
    name="customer",
    join_keys=["customer_id"],
    value_type=ValueType.INT64,
    description="A customer",
    tags={"team": "crm"},
)
orders = FileSource(
    name="orders_file",
    path="data/orders.parquet",
    timestamp_field="event_timestamp",
    created_timestamp_column="created",
    description="Orders by customer",
)
customer_orders = FeatureView(
    name="customer_orders",
    entities=[customer],
    ttl=timedelta(days=2),
    schema=[
        Field(name="orders", dtype=Int64, description="How many", tags={"pii": "no"}),
        Field(name="mean_amount", dtype=Float64),
    ],
    source=orders,
    owner="ann",
    description="What a customer orders",
    tags={"domain": "shop"},
)
basket = RequestSource(name="basket", schema=[Field(name="amount", dtype=Float64)])


@on_demand_feature_view(sources=[customer_orders, basket], schema=[Field(name="ratio", dtype=Float64)])
def basket_ratio(inputs: pd.DataFrame) -> pd.DataFrame:
    """Return how the basket compares to the customer's mean."""
    return pd.DataFrame({"ratio": inputs["amount"] / inputs["mean_amount"]})


churn = FeatureService(
    name="churn_v1", features=[customer_orders[["orders"]], basket_ratio], description="Churn model", owner="bob"
)
