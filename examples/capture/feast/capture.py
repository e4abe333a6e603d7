"""Feast's own OpenLineage events: a repository is applied, features are materialized, once in vain, and a dataset is saved.

The events of its definitions are single COMPLETE events; `materialize_shop` has runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import shop
from feast import FeatureStore
from feast.infra.offline_stores.file_source import SavedDatasetFileStorage

REPO = shop.HOME / "feast"
ORDERS = REPO / "data" / "orders.parquet"


def main(sent: Path) -> None:
    """Write `feast.ndjson` into the folder `sent`."""
    os.environ |= {
        "FEAST_USAGE": "False",
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(sent / "feast.ndjson"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }
    shutil.rmtree(REPO, ignore_errors=True)
    shutil.copytree(Path(__file__).parent / "project", REPO)
    os.chdir(REPO)
    now = datetime.now(timezone.utc)
    load(now)
    subprocess.run([Path(sys.executable).with_name("feast"), "apply"], check=True)
    work(FeatureStore("."), now)


def load(now: datetime) -> None:
    """Write the source of the features: what each customer ordered."""
    ORDERS.parent.mkdir()
    rows = pd.DataFrame(shop.orders(), columns=list(shop.ORDER_COLUMNS))
    found = rows.groupby("customer_id").agg(orders=("order_id", "count"), mean_amount=("amount", "mean")).reset_index()
    found.assign(event_timestamp=now - timedelta(hours=3), created=now).to_parquet(ORDERS)


def work(store: FeatureStore, now: datetime) -> None:
    """Materialize, in vain without the source, and again; save what a model is trained with."""
    store.materialize_incremental(end_date=now)
    ORDERS.rename(ORDERS.with_suffix(".away"))
    try:
        store.materialize(start_date=now - timedelta(days=1), end_date=now)
    except FileNotFoundError as error:
        print(f"as it is meant to: {error}")
    ORDERS.with_suffix(".away").rename(ORDERS)
    store.materialize(start_date=now - timedelta(days=1), end_date=now, feature_views=["customer_orders"])
    service = store.get_feature_service("churn_v1")
    asked = pd.DataFrame({"customer_id": [1, 2], "event_timestamp": [now, now], "amount": [10.0, 20.0]})
    warnings.simplefilter("ignore")  # saved datasets are called experimental
    store.create_saved_dataset(
        from_=store.get_historical_features(entity_df=asked, features=service),
        name="churn_training",
        storage=SavedDatasetFileStorage(path="data/churn.parquet"),
        tags={"owner": "ann"},
        feature_service=service,
    )
    store.openlineage_emitter.emit_registry_lineage(store.registry, store.project)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
