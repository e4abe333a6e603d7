"""Report runs from Python, without OpenLineage events: start, end, failure, another try. Then print the runs.

python examples/sdk_run.py [CATALOG]
"""

from __future__ import annotations

import sys

from dh_bridge import Bridge

JOB = ("nightly", "shop.load_orders")
LAKE = "s3://lake/orders/2024-01-01"
ORDERS = ("postgres://db.example:5432", "shop.public.orders")


def load(attempt: int) -> None:
    if attempt == 1:
        raise ConnectionError("the database restarts")


def main(catalog: str = ":memory:") -> None:
    bridge = Bridge(sink=f"catalog:{catalog}")

    with bridge.run(("nightly", "shop"), kind="scheduled") as night:
        with bridge.run(JOB, [LAKE], [ORDERS], parent=night, url="https://runs.example/42") as run:
            try:
                load(run.attempt)
            except ConnectionError as error:
                run.retry(2, error)  # ends the first try as UP_FOR_RETRY, and starts the second
                load(run.attempt)
        with bridge.run(("nightly", "shop.mail_report"), [ORDERS], parent=night, upstream=[run]) as mail:
            mail.skip()  # nothing to send

    catalog_store = bridge.pipeline.sink.catalog
    for reported in (night, run, mail):
        print(f"{reported.name}: {reported.urn}")
        for point in catalog_store.timeseries(reported.urn, "dataProcessInstanceRunEvent"):
            print(f"  try {point['attempt']}  {point['status']:<8}  {point.get('result', {}).get('type', '')}".rstrip())
    bridge.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
