"""A pipe gives what comes, when it comes, and whoever waits for it hears Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import threading

import pytest

from dh_bridge.openlineage.pipes import POLL_SECONDS, InterruptiblePipe


@pytest.fixture
def ends():
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_pipe_data_is_read_at_once_until_the_end():
    reading, writing = os.pipe()
    pipe = io.BufferedReader(InterruptiblePipe(reading), 1024)
    for stated in (b"one\n", b"two\n" * 1000):
        os.write(writing, stated)
        assert pipe.peek(4)[:4] == stated[:4]
        assert b"".join(pipe.readline() for _ in range(stated.count(b"\n"))) == stated
    os.close(writing)
    assert pipe.read() == b""
    os.close(reading)  # closing is the owner's: the pipe left it open


@pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="signals to one thread are POSIX: run it on Linux or macOS"
)
def test_interrupt_during_a_blocked_read_is_raised_soon(ends):
    reading, writing = ends

    def interrupt():
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # noted, and the main thread waits on

    late = threading.Timer(20 * POLL_SECONDS, os.write, (writing, b"late"))  # what ended the wait before
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    late.start()
    threading.Timer(POLL_SECONDS / 5, interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            InterruptiblePipe(reading).read(4)
        assert late.is_alive()
    finally:
        late.cancel()
        late.join()
        signal.signal(signal.SIGINT, before)
