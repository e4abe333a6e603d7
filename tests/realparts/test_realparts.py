from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from realparts import jars, java
from realparts.kafka import QUIET, Broker
from realparts.process import GUARD, NotReadyError, Program, shared

HERE = Path(__file__).resolve().parent


def sent(bootstrap, topic, values):
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", **QUIET})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.kafka
def test_broker_returns_messages_in_order(kafka):
    topic = kafka.topic()
    sent(kafka.bootstrap, topic, [b"%d" % number for number in range(3000)])
    assert [message.value() for message in kafka.messages(topic)] == [b"%d" % number for number in range(3000)]
    assert kafka.messages(kafka.topic(partitions=2)) == []


@pytest.mark.kafka
def test_registry_implements_the_confluent_api(registry):
    assert isinstance(registry.get("/subjects"), list)


@pytest.mark.kafka
@pytest.mark.slow
def test_killed_broker_comes_back_with_its_messages_on_its_port(own_broker):
    topic = own_broker.topic()
    sent(own_broker.bootstrap, topic, [b"before"])
    own_broker.kill()
    assert not own_broker.ready()
    own_broker.start()
    sent(own_broker.bootstrap, topic, [b"after"])
    assert [message.value() for message in own_broker.messages(topic)] == [b"before", b"after"]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("java_parts")
def test_broker_starts_where_one_has_ended(tmp_path):
    for _ in "ab":
        broker = Broker(tmp_path)
        broker.start()
        broker.topic()
        broker.stop()


@pytest.mark.kafka
@pytest.mark.usefixtures("java_parts")
def test_broker_with_an_unusable_folder_names_the_reason(tmp_path):
    (tmp_path / "data").write_text("a file where the folder of logs should be")
    with pytest.raises(NotReadyError, match="data"):
        Broker(tmp_path)


def program(folder, seconds=60):
    return Program(
        [sys.executable, "-c", f"import time; time.sleep({seconds})"],
        folder / "log",
        lock=folder / "lock",
        state=folder / "state.json",
    )


def started_in(folder, starts):
    def start(place):
        made = program(place)
        starts.append(made.pid)
        return made, {"pid": str(made.pid)}

    return shared(folder, start)


def test_shared_process_starts_once_and_ends_with_its_last_user(tmp_path):
    starts = []
    code = (
        f"import sys; sys.path.insert(0, {str(HERE.parent)!r})\n"
        "from pathlib import Path; from realparts.process import shared\n"
        f"with shared(Path({str(tmp_path)!r}), None) as said: print(said['pid'], flush=True); sys.stdin.read()"
    )
    with ExitStack() as stack:
        with started_in(tmp_path, starts) as stated:
            other = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            assert other.stdout.readline().strip() == stated["pid"]
            other.kill()  # it drops its share however it ends
        assert len(starts) == 1
        assert not running(starts[0])
        with started_in(tmp_path, starts) as stated:
            assert stated == {"pid": str(starts[1])}
    assert not running(starts[1])


def test_nothing_outlives_tests_that_are_killed(tmp_path):
    code = (
        f"import os, sys; sys.path.insert(0, {str(HERE.parent)!r})\n"
        "from pathlib import Path; from realparts.process import Program\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "made = Program([sys.executable, '-c', 'import time; time.sleep(60)'], folder / 'log', lock=folder / 'lock',"
        " state=folder / 'state.json')\n"
        "print(made.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    for _ in range(200):
        if not running(pid):
            break
        time.sleep(0.05)
    assert not running(pid)


def test_program_that_ends_too_early_shows_its_log(tmp_path):
    made = Program(
        [sys.executable, "-c", "import sys; sys.exit('no such port')"],
        tmp_path / "log",
        lock=tmp_path / "lock",
        state=tmp_path / "state.json",
    )
    with pytest.raises(NotReadyError, match="no such port"):
        made.wait_until(lambda: False)
    made.kill()


def test_guard_needs_nothing_but_python():
    subprocess.run([sys.executable, "-S", "-I", "-m", "py_compile", GUARD], check=True)


@pytest.mark.kafka
@pytest.mark.usefixtures("java_parts")
def test_jars_are_fetched_with_ivy_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(jars, "HOME", tmp_path)
    small = jars.Jars("small", ("org.slf4j:slf4j-simple:1.7.36",))
    found = jars.fetched(small, mvn=None)
    assert sorted(path.name for path in found.iterdir()) == ["slf4j-api-1.7.36.jar", "slf4j-simple-1.7.36.jar"]
    assert jars.fetched(small, mvn="/no/mvn/is/asked/again") == found


@pytest.mark.kafka
@pytest.mark.usefixtures("java_parts")
def test_missing_jars_are_an_error_that_names_them(monkeypatch, tmp_path):
    monkeypatch.setattr(jars, "HOME", tmp_path)
    with pytest.raises(jars.NoJarsError, match="no-such-thing"):
        jars.fetched(jars.Jars("missing", ("org.slf4j:no-such-thing:0.0.1",)), mvn=None)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("missing")] == []


def test_java_is_new_enough_or_named(monkeypatch):
    assert java.version("/no/java/here") == 0
    monkeypatch.setattr(java, "version", lambda _place: 11)
    with pytest.raises(java.NoJavaError, match="17 or newer"):
        java.java.__wrapped__()
