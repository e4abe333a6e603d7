"""Threads that answer requests: senders take turns, and questions about health have a thread of their own."""

from __future__ import annotations

import logging
from collections import Counter, deque
from ipaddress import ip_address, ip_network
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import INTERNAL_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("dh_bridge.receiver")

_THREADS_PER_SPARE = 4
"""One thread for as many of those that one sender may use at a time: other senders are answered by these."""
_SHUTDOWN_SECONDS = 5.0
"""Seconds that threads have to end in."""


def sender_of(address: str, forwarded: str, trusted_proxy: str | None) -> str:
    """Return the sender of a request: all addresses in an IPv6 network of 64 bits are one sender.

    Args:
        address: The address of the connection.
            forwarded: The header ``X-Forwarded-For`` of the request; its last address was added by the proxy. Other texts are
                ignored.
            trusted_proxy: The address of a proxy whose header is used.
    """
    if address == trusted_proxy and forwarded:
        address = _address_of(forwarded.rpartition(",")[2].strip()) or address
    try:
        return str(ip_network(f"{address}/64", strict=False)) if ":" in address else address
    except ValueError:
        return address


def _address_of(text: str) -> str | None:
    """Return the address in a member of ``X-Forwarded-For``, which may have a port; None if it has none."""
    host = (
        text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0] if text.count(":") == 1 else text
    )
    try:
        return str(ip_address(host))
    except ValueError:
        return None


class _ThreadPool:
    """A number of threads, of which a sender may use ``max_per_sender``."""

    def __init__(self, count: int, max_per_sender: int, name: str) -> None:
        self._max_per_sender = max_per_sender
        self._condition = Condition()
        self._waiting: dict[str, deque[Any]] = {}
        self._running: Counter[str] = Counter()
        self._is_ended = False
        self._threads = [
            Thread(target=self._run, name=f"dh_bridge.{name}-{index}", daemon=True) for index in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def add(self, sender: str, task: Any) -> None:
        with self._condition:
            self._waiting.setdefault(sender, deque()).append(task)
            self._condition.notify()

    def shutdown(self) -> None:
        with self._condition:
            self._is_ended = True
            for tasks in self._waiting.values():
                for task in tasks:
                    task.cancel()
            self._waiting.clear()
            self._condition.notify_all()
        for thread in self._threads:
            thread.join(_SHUTDOWN_SECONDS / len(self._threads))

    def _run(self) -> None:
        while (next_task := self._next_task()) is not None:
            sender, task = next_task
            try:
                task.service()
            except Exception:
                log.exception("%s", INTERNAL_ERROR)
            del task, next_task
            with self._condition:
                self._running[sender] -= 1
                if not self._running[sender]:
                    del self._running[sender]
                if sender in self._waiting:
                    self._condition.notify()

    def _next_task(self) -> tuple[str, Any] | None:
        with self._condition:
            while not self._is_ended:
                for sender, tasks in self._waiting.items():
                    if self._running[sender] < self._max_per_sender:
                        del self._waiting[sender]
                        task = tasks.popleft()
                        if tasks:  # behind all others
                            self._waiting[sender] = tasks
                        self._running[sender] += 1
                        return sender, task
                self._condition.wait()
        return None


class Dispatcher:
    """Replaces waitress' own dispatcher of tasks.

    Args:
        threads: Requests of one sender that are answered at a time.
        sender_of: Returns the sender of a connection's next request.
        needs_no_ledger: Whether the next request of a connection is answered without waiting for the ledger.
    """

    def __init__(self, threads: int, sender_of: Callable[[Any], str], needs_no_ledger: Callable[[Any], bool]) -> None:
        self._sender_of = sender_of
        self._needs_no_ledger = needs_no_ledger
        self._request_threads = _ThreadPool(threads + max(1, threads // _THREADS_PER_SPARE), threads, "web")
        self._health_threads = _ThreadPool(1, 1, "health")

    def add_task(self, channel: Any) -> None:
        """Hand the next request of a connection to a thread."""
        if self._needs_no_ledger(channel):
            self._health_threads.add("", channel)
        else:
            self._request_threads.add(self._sender_of(channel), channel)

    def shutdown(self) -> None:
        """End the threads."""
        for threads in (self._request_threads, self._health_threads):
            threads.shutdown()
