"""A receiver in this process or one of its own, what sends to it, and what looks at what came of it."""

from __future__ import annotations

import http.client
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from unittest import mock
from urllib.parse import urlsplit

from dh_bridge import Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.receiver import log_backlog
from dh_bridge.receiver.folding import run_folding
from dh_bridge.receiver.folding_worker import FoldingWorker
from dh_bridge.receiver.running import run_receiver
from dh_bridge.receiver.worker_messages import MessageSender
from support.sample_events import RUN, packed

POINTS = "dataProcessInstanceRunEvent"
QUICK = {"retries": 0, "timeout": 5}


class FoldingThread:
    """Folds in a thread of this process, with the methods of a ``Popen`` that a FoldingWorker needs: a test can replace parts of it."""

    pid = 0

    def __init__(self, config):
        (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(write_in, "wb", 0), os.fdopen(read_out, "rb", 0)
        self._code = 0
        self._thread = threading.Thread(target=self._run, args=(read_in, write_out), daemon=True)
        self._thread.start()
        self.stdin.write(config.encode())

    def _run(self, read_in, write_out):
        with os.fdopen(read_in, "rb") as pipe, os.fdopen(write_out, "wb") as output:
            try:
                run_folding(pipe, MessageSender(output))
            except Exception:
                logging.getLogger("dh_bridge").exception("the thread ends")
                self._code = 1

    def wait(self):
        self._thread.join()
        return self._code


@contextmanager
def served(target, place=None, *, bury=lambda _: None, has_processes=False, **settings):
    """Run a receiver in this process; ``has_processes``: its folding process is one, else a thread."""
    own = {"listen": "127.0.0.1:0", **settings.pop("receiver", {})}
    with ExitStack() as stack:
        if not has_processes:
            stack.enter_context(mock.patch.object(FoldingWorker, "_start", FoldingThread))
            stack.enter_context(mock.patch.object(log_backlog, "MIN_INTERVAL_SECONDS", 0.0))
        found = stack.enter_context(
            run_receiver(target, Settings(receiver=own, **settings), place, on_dead_letter=bury)
        )
        place = urlsplit(found.url)
        found.address = place.hostname, place.port
        yield found


class Served:
    """``dh-bridge serve`` in a process of its own; ``said`` are the lines of its stderr so far."""

    def __init__(self, *arguments, **variables):
        command = [sys.executable, "-m", "dh_bridge", "serve", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | variables
        )
        self.output = []
        while not (self.output and self.output[-1].startswith("taking events")):
            line = self.process.stderr.readline()
            assert line, self.output
            self.output.append(line.rstrip())
        self.url = re.search(r"http://[^/]+", self.output[-1])[0]
        place = urlsplit(self.url)
        self.address = place.hostname, place.port

    def end(self, number=signal.SIGTERM):
        """End it; return the exit code and what it said since."""
        self.process.send_signal(number)
        out, stated = self.process.communicate(timeout=30)
        assert out == ""
        return self.process.returncode, stated.splitlines()


@contextmanager
def serving(*arguments, **variables):
    found = Served(*arguments, **variables)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
            found.process.communicate()


def ask(found, body=b"", path="/api/v1/lineage", method="POST", **headers):
    """Return (status, JSON or text, headers) of a request."""
    connection = http.client.HTTPConnection(urlsplit(found.url).netloc, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        raw = answer.read()
    finally:
        connection.close()
    kind = answer.headers["Content-Type"]
    return answer.status, json.loads(raw) if kind == "application/json" else raw.decode(), answer.headers


def post(found, *events, **more):
    (body,) = packed(events) if len(events) == 1 else [json.dumps(list(events)).encode()]
    return ask(found, body, **more)


def health(found):
    return ask(found, path="/health", method="GET")[1]


def metrics(found):
    """Return what is counted, by the names that Prometheus sees."""
    text = ask(found, path="/metrics", method="GET")[1]
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name.removeprefix("dh_bridge_"): int(number) for name, number in lines}


def is_delivered(found):
    """Whether each accepted event is in the ledger, and no proposal waits."""
    return metrics(found)["unfolded_events"] == 0 and health(found)["waiting"] == 0


def settle(found):
    """Wait until each accepted event is in the ledger, and counted."""
    until(lambda: metrics(found)["unfolded_events"] == 0)
    until(lambda: found.metrics["events"] + found.metrics["filtered"] >= found.metrics["accepted"])


def dialogue(found, *pieces):
    """Send bytes piece by piece, each after the first answer to the last one; return all that came until the end."""
    with socket.create_connection(found.address, timeout=10) as sender:
        answer = b""
        for number, piece in enumerate(pieces):
            answer += sender.recv(65536) if number else b""
            sender.sendall(piece)
        return answer + b"".join(iter(lambda: sender.recv(65536), b""))


def points(file, run=f"urn:li:dataProcessInstance:{RUN}"):
    with Catalog(file, readonly=True) as catalog:
        return [point["status"] for point in catalog.timeseries(run, POINTS)]


def dump_of(file):
    with Catalog(file, readonly=True) as catalog:
        return list(dump_catalog(catalog))


def until(true, seconds=60):
    """Wait until something is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "too late"
        time.sleep(0.02)
    return found
