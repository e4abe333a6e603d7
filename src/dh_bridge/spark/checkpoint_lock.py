"""One stream for each checkpoint: a lock, which a second stream is refused by before it starts.

Spark itself would stop the first stream of the same session, or fail in the first one when a second program writes offsets.
A local checkpoint has a locked file, which the system unlocks when its process ends, however it ends. A checkpoint of a store
has a lease: a file with the holder's name and the time, which the holder renews.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dh_bridge.errors import SettingsError
from dh_bridge.spark.hadoop import read_bytes, store_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LEASE_SECONDS = 60.0
"""Seconds after which a lease that is not renewed is void: its holder was killed."""
RENEWAL_SECONDS = 15.0
LOCK_NAME = "lock"
_held: dict[str, HeldLock] = {}
_held_guard = threading.Lock()


class Lock(Protocol):
    """A lock of a checkpoint that this process holds."""

    def renew(self) -> None:
        """Extend the lock."""

    def release(self) -> None:
        """Free the checkpoint for another stream."""


class HeldLock:
    """A lock and the stream that it is for."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.query: StreamingQuery | None = None

    @property
    def is_active(self) -> bool:
        """Whether the stream is starting or running."""
        return self.query is None or bool(self.query.isActive)


def lock_checkpoint(spark: SparkSession, checkpoint: str) -> str:
    """Lock a checkpoint; return its key for :func:`hold_for` and :func:`release`.

    Raises:
        SettingsError: A stream uses the checkpoint; the message names its process.
    """
    _, path = store_of(spark, checkpoint)
    uri = path.toUri()
    key = str(uri.toString())
    with _held_guard:
        earlier = _held.get(key)
        if earlier is not None and not earlier.is_active:
            _held.pop(key).lock.release()
        is_local = uri.getScheme() == "file" and fcntl is not None
        lock: Lock = FileLock(Path(uri.getPath()), checkpoint) if is_local else Lease(spark, checkpoint)
        _held[key] = HeldLock(lock)
    return key


def hold_for(key: str, query: StreamingQuery) -> None:
    """Hold the lock until the stream ends."""
    held = _held[key]
    held.query = query
    threading.Thread(target=_watch, args=(key, held, query), name="dh-bridge-checkpoint-lock", daemon=True).start()


def release(key: str, held: HeldLock | None = None) -> None:
    """Release a lock; ``held``: only if it is still this one."""
    with _held_guard:
        current = _held.get(key)
        if current is not None and (held is None or current is held):
            _held.pop(key).lock.release()


def _watch(key: str, held: HeldLock, query: StreamingQuery) -> None:
    """Renew the lock until the stream ends, also by an error, or by the end of Spark."""
    with suppress(Exception):
        while not query.awaitTermination(int(RENEWAL_SECONDS)):
            held.lock.renew()
    release(key, held)


class FileLock:
    """A locked file in a local checkpoint."""

    def __init__(self, folder: Path, checkpoint: str) -> None:
        folder = folder / "dh_bridge"
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / LOCK_NAME).open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read()
            self._file.close()
            raise _in_use(checkpoint, holder) from error
        self._file.truncate(0)
        self._file.write(json.dumps(describe_holder()))
        self._file.flush()

    def renew(self) -> None:
        """Do nothing: the system holds the lock as long as the process runs."""

    def release(self) -> None:
        """Unlock and close the file, which stays: if it were deleted, two streams could lock two files of this name."""
        self._file.close()


class Lease:
    """A file in a checkpoint of a store, which is renewed every RENEWAL_SECONDS."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._spark = spark
        self._name = f"{checkpoint.rstrip('/')}/dh_bridge/{LOCK_NAME}"
        text = self._read()
        holder = _parse_holder(text)
        if holder and time.time() - holder.get("renewed", 0) < LEASE_SECONDS:
            raise _in_use(checkpoint, text, seconds=LEASE_SECONDS)
        self._holder = describe_holder()
        self.renew()
        if _parse_holder(text := self._read()).get("holder") != self._holder["holder"]:  # another one was faster
            raise _in_use(checkpoint, text, seconds=LEASE_SECONDS)

    def renew(self) -> None:
        """Write the present time into the lease."""
        store, path = store_of(self._spark, self._name)
        stream = store.create(path, True)  # noqa: FBT003 - Java's
        stream.write(bytearray(json.dumps({**self._holder, "renewed": time.time()}).encode()))
        stream.close()

    def release(self) -> None:
        """Delete the lease."""
        with suppress(Exception):  # Spark was stopped: the lease ends by itself
            store, path = store_of(self._spark, self._name)
            store.delete(path, False)  # noqa: FBT003 - Java's

    def _read(self) -> str:
        return (read_bytes(self._spark, self._name) or b"").decode("utf-8", "replace")


def describe_holder() -> dict[str, Any]:
    """Return what a refused stream is shown of this one."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"holder": f"process {os.getpid()} on {socket.gethostname()}, started {started}"}


def _parse_holder(text: str) -> dict[str, Any]:
    with suppress(ValueError):
        parsed = json.loads(text)
        return parsed if isinstance(parsed, dict) else {}
    return {}


def _in_use(checkpoint: str, holder: str, *, seconds: float | None = None) -> SettingsError:
    name = _parse_holder(holder).get("holder", "another process")
    lease = f" If that process was killed, try again after {seconds:.0f} s." if seconds else ""
    return SettingsError(
        f"another stream uses this checkpoint: {name}",
        location=f"checkpoint {checkpoint}",
        remedy=f"stop that stream first, or use another checkpoint.{lease}".rstrip("."),
    )
