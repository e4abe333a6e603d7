"""A real Apache Kafka: one node that is broker and controller (KRaft), on loopback; 3 s to start, 300 MB.

The settings are those of a node whose tests are short; ``broker.session.timeout.ms`` lets a killed one come back in 3 s, not
in 12.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from realparts.certificates import loopback_certificate
from realparts.jars import KAFKA, fetched
from realparts.java import FRUGAL, java
from realparts.process import NotReadyError, Program, free_port

if TYPE_CHECKING:
    from confluent_kafka import Message

QUIET = {"log_level": 0, "logger": logging.getLogger("realparts.kafka")}
"""librdkafka speaks up for every port that is closed."""
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"  # 16 bytes in base64 for URLs; one that begins with a dash would be read as a flag
PASSWORD = "the-password-of-ann"  # noqa: S105 - of a broker on loopback
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{inner}
listeners=PLAINTEXT://127.0.0.1:{port},SAFE://127.0.0.1:{safe},CONTROLLER://127.0.0.1:{inner}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SAFE://127.0.0.1:{safe}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SAFE:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.safe.sasl.enabled.mechanisms=PLAIN
listener.name.safe.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="{password}";
listener.name.safe.ssl.keystore.type=PEM
listener.name.safe.ssl.keystore.certificate.chain={certificate}
listener.name.safe.ssl.keystore.key={key}
log.dirs={folder}/data
log.retention.ms=-1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=500
auto.create.topics.enable=false
"""


class Kafka:
    """A broker by its address: what tests do with one that others use too.

    ``safe``: its other door, with TLS (``authority``: the file of the certificate) and a login, user ``ann`` and PASSWORD.
    """

    def __init__(self, bootstrap: str, safe: str, authority: str) -> None:
        self.bootstrap = bootstrap
        self.safe = safe
        self.authority = authority

    def topic(self, prefix: str = "t", partitions: int = 1, **config: str) -> str:
        """Make a topic of a new name that begins with ``prefix``, and return its name."""
        return self.make(f"{prefix}-{uuid.uuid4().hex[:8]}", partitions, **config)

    def make(self, name: str, partitions: int = 1, **config: str) -> str:
        """Make the topic ``name``; ``config`` as ``max_message_bytes="1000"``."""
        wanted = {key.replace("_", "."): value for key, value in config.items()}
        for patience in (20, 40, 60):  # a busy disk keeps the controller waiting; a client may have found no controller
            admin = self.admin()  # held until the broker has answered
            try:
                admin.create_topics([NewTopic(name, partitions, 1, config=wanted)])[name].result(patience)
            except TimeoutError:
                continue
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # an earlier attempt came through late
                    raise
            return name
        raise TimeoutError(f"the broker of {self.bootstrap} made no topic {name} in two minutes")

    def admin(self) -> AdminClient:
        """Return a client that makes, changes and lists."""
        return AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})

    def messages(self, topic: str, **config: Any) -> list[Message]:
        """Return every message of a topic that is there now, partition by partition."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": uuid.uuid4().hex, "enable.auto.commit": False}
        reader = Consumer({**settings, "auto.offset.reset": "earliest", **QUIET, **config})
        found: list[Message] = []
        try:
            for partition in sorted(reader.list_topics(topic, timeout=30).topics[topic].partitions):
                place = TopicPartition(topic, partition, 0)
                _, end = reader.get_watermark_offsets(place, timeout=30)
                reader.assign([place])
                while end and reader.position([place])[0].offset < end:
                    found += [message for message in reader.consume(1000, 1.0) if message.error() is None]
                reader.unassign()
        finally:
            reader.close()
        return found

    def ready(self) -> bool:
        """Say whether it answers."""
        try:
            return bool(self.admin().list_topics(timeout=1).brokers)
        except KafkaException:
            return False


class Broker(Kafka):
    """A broker of one's own in ``folder``: it can be killed and come back with what it has stored, on the same port.

    The folder may be that of an earlier broker that has ended: workers of xdist leave when they have nothing more to do, the
    last user takes the broker with him, and a slower worker starts the next.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port, safe, inner = free_port(), free_port(), free_port()
        super().__init__(f"127.0.0.1:{port}", f"127.0.0.1:{safe}", str(folder / "authority.pem"))
        folder.mkdir(parents=True, exist_ok=True)
        certificate, key = loopback_certificate()
        Path(self.authority).write_text(certificate, encoding="utf-8")
        ports = {"port": port, "safe": safe, "inner": inner}
        pem = {"certificate": _one_line(certificate), "key": _one_line(key)}
        self._settings = folder / "server.properties"
        self._settings.write_text(PROPERTIES.format(**ports, **pem, folder=folder, password=PASSWORD), encoding="utf-8")
        self._java = [java(), *FRUGAL, "-Xmx384m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        self._java += ["-cp", f"{fetched(KAFKA)}/*"]
        self.program: Program | None = None
        storage = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER, "-c", str(self._settings)]
        done = subprocess.run([*self._java, *storage], check=False, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise NotReadyError(done.stdout + done.stderr)

    def start(self) -> None:
        """Start it, or start it again, and return when it answers."""
        command = [*self._java, "kafka.Kafka", str(self._settings)]
        lock, state = self._folder / "lock", self._folder / "state.json"
        self.program = Program(command, self._folder / "kafka.log", lock=lock, state=state)
        self.program.wait_until(self.ready)

    def kill(self) -> None:
        """End it with no warning."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        self._end(signal.SIGTERM)

    def _end(self, sign: int) -> None:
        if self.program is not None:
            self.program.kill(sign)
            self.program = None


def _one_line(pem: str) -> str:
    """Return a text as a value of Java's properties."""
    return pem.strip().replace("\n", "\\n")
