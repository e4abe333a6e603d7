"""Report checks and their results from Python: by name, or with DataHub's own definitions. Then print the results.

python examples/sdk_assertion.py [CATALOG]
"""

from __future__ import annotations

import sys

from dh_bridge import Bridge
from dh_bridge.sdk import Freshness, Volume

ORDERS = ("postgres://db.example:5432", "shop.public.orders")


def main(catalog: str = ":memory:") -> None:
    bridge = Bridge(sink=f"catalog:{catalog}")

    highest = bridge.assertion(
        ORDERS,
        "expect_column_max_to_be_between",
        column="amount",
        min=89,
        max=99,
        platform="great-expectations",
        suite="demo_suite",
    )
    highest.report(success=True, actual=90, run_id="monday", partition=[{"country": "IN"}])
    highest.report(success=False, actual=101, run_id="monday", partition=[{"country": "US"}], severity="warn")
    highest.report(error="could not connect to server: Connection refused", run_id="monday")

    volume = bridge.assertion(ORDERS, Volume(min=1_000, max=5_000, filter="country = 'IN'"))
    volume.report(success=True, rows=1_200, run_id="monday")
    fresh = bridge.assertion(ORDERS, Freshness(cron="0 8 * * *", timezone="Europe/Berlin"), description="by breakfast")
    fresh.report(success=True, run_id="monday")

    catalog_store = bridge.pipeline.sink.catalog
    for check in (highest, volume, fresh):
        print(f"{check.info['type']:<10} {check.urn}")
        for point in catalog_store.timeseries(check.urn, "assertionRunEvent"):
            result = point["result"]
            more = result.get("error", {}).get("type", "")
            print(f"  {point['partitionSpec']['partition']:<22} {result['type']} {more}".rstrip())
    bridge.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
