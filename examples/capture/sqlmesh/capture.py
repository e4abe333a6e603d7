"""SQLMesh on DuckDB with sqlmesh-openlineage: a seed, models over it, one that fails; the rerun of one model.

sqlmesh-openlineage sends over HTTP only, so this script takes its events.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import shop

PROJECT = shop.HOME / "sqlmesh"
PLANS = (["plan", "dev"], ["plan"], ["plan", "--restate-model", "mart.daily_revenue"])


class Receiver(BaseHTTPRequestHandler):
    """Keeps each event as a line."""

    kept: Path

    def do_POST(self) -> None:
        """Take one event."""
        event = self.rfile.read(int(self.headers["Content-Length"]))
        with self.kept.open("ab") as file:
            file.write(event + b"\n")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


def main(sent: Path) -> None:
    """Write `sqlmesh.ndjson` into the folder `sent`."""
    Receiver.kept = sent / "sqlmesh.ndjson"
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(Path(__file__).parent / "project", PROJECT)
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for plan in PLANS:
            sqlmesh(*plan, "--auto-apply", "--no-prompts", url=f"http://127.0.0.1:{server.server_port}")
            # what failed in its own environment is not to fail in production
            (PROJECT / "models" / "big_orders.sql").unlink(missing_ok=True)
        server.shutdown()


def sqlmesh(*command: str, url: str) -> None:
    """Run SQLMesh in the project; a failing model is part of the story."""
    variables = os.environ | {"OPENLINEAGE_URL": url, "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "true"}
    subprocess.run([Path(sys.executable).with_name("sqlmesh"), *command], cwd=PROJECT, env=variables, check=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
