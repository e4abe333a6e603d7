"""Dagster's sensor of dagster-openlineage: jobs of ops and of assets are run, then the sensor reads the event log once.

No daemon is needed for that; the sensor's events of jobs and assets share the run id of Dagster's run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dagster import DagsterInstance, build_sensor_context
from project.definitions import RUNS, shop_definitions


def main(sent: Path) -> None:
    """Write `dagster.ndjson` into the folder `sent`."""
    os.environ |= {
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "OPENLINEAGE_NAMESPACE": "dagster",
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(sent / "dagster.ndjson"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }
    from dagster_openlineage import openlineage_sensor  # noqa: PLC0415 - it makes its client at once

    with TemporaryDirectory() as folder, DagsterInstance.ephemeral(folder) as instance:
        for job, partition in RUNS:
            done = shop_definitions.get_job_def(job).execute_in_process(
                instance=instance, partition_key=partition, raise_on_error=False
            )
            print(f"{job}: {'SUCCESS' if done.success else 'FAILURE'}")
        context = build_sensor_context(instance=instance)
        sensor = openlineage_sensor(include_asset_events=True, record_filter_limit=1000)
        print(sensor.evaluate_tick(context).skip_message)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
