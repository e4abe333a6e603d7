"""What every sink promises. A test module of a sink gives a ``target``: how to open it, and how to read back what arrived.

A new sink joins by adding its case to ``CASES``; it must then pass every promise of test_sink_contract.py, and show each ability
that its kind declares.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.sinks.base import SinkOptions, open_sink

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dh_bridge.sinks.base import Sink

DATASET = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
CAFE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.café_☃_𝄞,PROD)"
RUN = "urn:li:dataProcessInstance:0f6e2a3c"
CREATE = msgspec.structs.replace(upsert("dataset", DATASET, "subTypes", {"typeNames": ["Table"]}), change_type="CREATE")
"""A proposal that is to be written only where the aspect is absent."""


@dataclass
class Case:
    """``target`` for a folder; ``arrived`` reads (URN, aspect, change type) of what the closed sink took, in order.

    ``needs``: fixtures whose values stand in ``PARTS`` while a test of the case runs.
    """

    name: str
    target: Callable[[Path], str]
    arrived: Callable[[Sink, Path], list[tuple[str, str]]]
    options: Callable[[Path], SinkOptions] = lambda folder: SinkOptions()  # noqa: ARG005 - most have no options
    needs: tuple[str, ...] = ()

    def open(self, folder: Path, options: SinkOptions | None = None) -> Sink:
        """Open the sink that delivers into ``folder``."""
        return open_sink(self.target(folder), options or self.options(folder))


class BrokenOffError(Exception):
    """What the tests raise inside a sink's block."""


def break_off(target, *, close_first=False, **options):
    """Emit to the sink of a target, then raise inside its block."""
    leave(open_sink(target, SinkOptions(**options)), close_first=close_first)


def leave(opened, *, close_first=False):
    """Emit to a sink, then raise inside its block."""
    with opened as sink:
        sink.emit(proposals())
        if close_first:
            sink.close()
        raise BrokenOffError


def proposals():
    """Return one proposal of each kind: UPSERT, PATCH, timeseries; text that is not ASCII."""
    return [
        upsert("dataset", DATASET, "subTypes", {"typeNames": ["Table"]}),
        patch("dataset", CAFE, "datasetProperties", [{"op": "add", "path": "/name", "value": 'café ☃ 𝄞 " \\ \n'}]),
        upsert(
            "dataProcessInstance",
            RUN,
            "dataProcessInstanceRunEvent",
            {
                "timestampMillis": 1700000000000,
                "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
                "messageId": "m",
                "status": "STARTED",
            },
        ),
    ]


def _from_memory(sink, _folder):
    return [(found.entity_urn, found.aspect_name) for found in sink.proposals]


def _from_lines(_sink, folder):
    lines = (folder / "out.ndjson").read_text(encoding="utf-8").splitlines()
    return [(item["entityUrn"], item["aspectName"]) for item in map(json.loads, lines)]


def _from_array(_sink, folder):
    items = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return [(item["entityUrn"], item["aspectName"]) for item in items]


def _from_catalog(_sink, folder):
    with Catalog(folder / "out.db", readonly=True) as catalog:
        found = {(urn, name) for urn in catalog.entities() for name in catalog.aspects(urn)}
        found |= {(urn, name) for urn in catalog.entities() for name in catalog.timeseries_aspects(urn)}
    sent = [(proposal.entity_urn, proposal.aspect_name) for proposal in proposals()]
    return [pair for pair in sent if pair in found] + sorted(found.difference(sent))


SERVERS: dict[Path, Any] = {}
"""Servers of the case ``rest``, by folder; conftest.py shuts them down after each test."""


def _rest(version):
    """Return the case of a server of a version."""

    def target(folder):
        from support.gms import Gms  # noqa: PLC0415 - the recipe of CONTRIBUTING.md copies this folder alone

        if folder not in SERVERS:
            SERVERS[folder] = Gms(folder / "gms.db", version=version)
        return f"rest:{SERVERS[folder].url}"

    return Case(f"rest {version}", target, _from_server)


def _from_server(_sink, folder):
    return [(found.entity_urn, found.aspect_name) for found in SERVERS[folder].proposals]


PARTS: dict[str, Any] = {}
"""What the fixtures that a case needs have given, by their names."""


def _topic(folder):
    return f"proposals-{abs(hash(folder))}"


def _kafka_target(folder):
    if _topic(folder) not in PARTS["kafka"].admin().list_topics(timeout=30).topics:
        PARTS["kafka"].make(_topic(folder))
    return f"kafka:{PARTS['kafka'].bootstrap}"


def _kafka_options(folder):
    return SinkOptions(kafka={"topic": _topic(folder), "registry": {"url": PARTS["registry"].url}})


def _from_topic(_sink, folder):
    from support.kafka_proposals import read  # noqa: PLC0415 - the recipe of CONTRIBUTING.md does without its fixtures

    messages = PARTS["kafka"].messages(_topic(folder))
    return [(found.entityUrn, found.aspectName) for found in read(messages, PARTS["registry"].url)]


CASES = [
    Case("memory", lambda folder: "memory:", _from_memory),  # noqa: ARG005 - memory has no place
    Case("ndjson", lambda folder: f"file:{folder / 'out.ndjson'}", _from_lines),
    Case("array", lambda folder: f"file:{folder / 'out.json'}", _from_array),
    *map(_rest, ("0.15.0", "1.4.0", "1.5.0", "1.5.0.5", "1.7.0")),
    Case("kafka", _kafka_target, _from_topic, _kafka_options, needs=("kafka", "registry")),
    Case("catalog", lambda folder: f"catalog:{folder / 'out.db'}", _from_catalog),
]
