"""A metadata service on loopback: decodes what a sink sends, checks it as GMS does, and keeps it in the embedded catalogue.

``with Gms(folder / "gms.db", version="1.4.0") as gms`` answers at ``gms.url``: ``/config``, ``ingestProposal`` and
``ingestProposalBatch`` (a batch is taken whole or not at all), ``/aspects/{urn}``, ``/entitiesV2``, OpenAPI's ``batchGet`` and
``/runs?action=rollback``. ``version`` is what it says and, unless ``acts_as`` is another one, what it understands: which forms
of patches (``PATCH_FORMS``), which entities and aspects; fields that it does not know are trimmed, and named in ``trimmed``. If ``strict``, it refuses texts that its search index would not take.
It fails on request: ``gms.faults`` holds what happens to the next requests that write,
``gms.poison`` says of a proposal why it is refused; ``gms.forbidden`` are the entities that nobody may read; ``gms.stop()`` and ``gms.start()`` let it go down and come back at the same
address, with all that it has taken. State is compared by ``gms.dump()``.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.generic_aspect import plain_operations
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import Payload, Proposal
from dh_bridge.datahub.search_texts import long_texts
from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.datahub.urns import key_aspect
from dh_bridge.datahub.validation import validator
from dh_bridge.datahub.versions import parse_version
from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typing_extensions import Self

    from dh_bridge.datahub.profiles import Profile

LIMIT = 16_000_000
_CONTENT = {"UPSERT": "application/json", "CREATE": "application/json", "PATCH": "application/json-patch+json"}
_FIELDS = {"entityType", "entityUrn", "changeType", "aspectName", "aspect", "systemMetadata", "headers"}
#: The versions that the sinks and the end-to-end tests are run against.
VERSIONS = ("0.15.0", "1.4.0", "1.5.0", "1.5.0.5", "1.7.0")

_OLDEST, _NEWEST = (0,), (99,)
_SOURCE = "attribution\u241fsource"
#: Aspect and form of a patch -> the first and the last version that take it, as observed on DataHub's own server code of
#: 0.15.0, 1.5.0 and of 10 April 2026. A form is the array of keys that a patch names, "" where it names none; column tags
#: name no keys, but end their path in an empty attribution since 1.5.0.5.
PATCH_FORMS = {
    ("ownership", ""): (_OLDEST, (1, 5, 0)),
    ("ownership", f"owner type typeUrn {_SOURCE}"): ((1, 5, 0, 5), _NEWEST),
    ("ownership", "owner type"): ((1, 5, 0), _NEWEST),
    ("globalTags", ""): (_OLDEST, (1, 5, 0)),
    ("globalTags", f"{_SOURCE} tag"): ((1, 5, 0), _NEWEST),
    ("globalTags", "tag"): ((1, 5, 0), _NEWEST),
    ("glossaryTerms", ""): (_OLDEST, (1, 5, 0)),
    ("glossaryTerms", f"urn {_SOURCE}"): ((1, 5, 0), _NEWEST),
    ("editableSchemaMetadata", ""): (_OLDEST, (1, 5, 0)),
    ("editableSchemaMetadata", "/"): ((1, 5, 0, 5), _NEWEST),
}
_COLUMN_TAG = re.compile("/editableSchemaFieldInfo/[^/]*/globalTags/tags/[^/]+(/?)").fullmatch
#: What a server says that cannot apply a patch: rest.li's 500 with the Java class of the error.
_CANNOT_PATCH = "java.lang.RuntimeException: jakarta.json.JsonException: The JSON Object is missing the name/value pair"
#: Fields that a profile has, as the last release of its line does, and an earlier release of the line has not.
_UNKNOWN_FIELDS = {"1.5.0": [("assertionRunEvent", "result", "severity")]}


def patch_form(aspect_name: str, value: Any) -> str:
    """Return the form of a patch, as ``PATCH_FORMS`` names it."""
    if isinstance(value, dict):
        return " ".join(next(iter(value["arrayPrimaryKeys"].values())))
    if aspect_name != "editableSchemaMetadata":
        return ""
    return next((found[1] for each in value if (found := _COLUMN_TAG(each["path"]))), "")


@dataclass
class Fault:
    """What happens to one request: an answer with a status, after a pause, or no answer at all.

    ``pause`` is before the proposals are applied, ``linger`` between that and the answer, both in seconds.

    ``reset``: the connection is torn down in ``mid-body`` of the request, ``before`` the proposals are applied, ``after`` it, or in
    ``mid-answer``.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    pause: float = 0.0
    linger: float = 0.0
    reset: str = ""


@dataclass
class Request:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RefusedError(Exception):
    """What GMS answers other than 200."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Gms:
    """The server; ``requests`` and ``proposals`` hold what came and what was taken, in order, ``metadata`` whose it is."""

    def __init__(
        self, place: Path, *, version: str | None = "1.4.0", token: str | None = None, batches: bool = True
    ) -> None:
        self.place = place
        self.version = version
        self.token = token
        self.batches = batches
        self.acts_as: str | None = None
        self.strict = False
        self.trimmed: list[tuple[str, str]] = []
        self.environment = "core"
        self.faults: list[Fault] = []
        self.poison: Callable[[Proposal], str | RefusedError | None] = lambda proposal: None  # noqa: ARG005 - takes all
        self.requests: list[Request] = []
        self.proposals: list[Proposal] = []
        self.metadata: dict[tuple[str, str], dict[str, Any]] = {}
        self.stamps: dict[tuple[str, str], int] = {}
        self.skew = 0.0
        self.forbidden: set[str] = set()
        self.done: list[Request] = []
        self._lock = threading.Lock()
        with Catalog(place):
            pass
        self._port = 0
        self.start()
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, after a stop at the address of before."""
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.gms = self
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and cut all connections; what is being applied is applied whole or not at all."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server.cut()

    close = stop

    def forget(self) -> None:
        """Have nothing, as if nothing had come."""
        for path in self.place.parent.glob(f"{self.place.name}*"):
            path.unlink()
        with Catalog(self.place):
            pass
        self.proposals.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def writes(self) -> list[Request]:
        """Return the requests that want to write."""
        return [one for one in self.requests if "ingestProposal" in one.path]

    def dump(self) -> list[bytes]:
        """Return what the catalogue says, as ``dh-bridge get --all`` does."""
        with Catalog(self.place, readonly=True) as catalog:
            return list(dump_catalog(catalog))

    def take(self, bodies: list[dict[str, Any]], received: float) -> None:
        """Check and apply proposals, all of them or none; a RefusedError says why none. ``received``: by the server's clock."""
        proposals = [self._decoded(body) for body in bodies]
        with self._lock, Catalog(self.place) as catalog, catalog.transaction():
            for body in bodies:
                self._look_at_the_time(body)
                self._look_at_creates(body, catalog)
            delivery = catalog.apply(proposals)
            if delivery.failures:
                raise RefusedError(422, delivery.failures[0].reason)
            self.proposals += proposals
            for body in bodies:
                self.metadata[body["entityUrn"], body["aspectName"]] = body.get("systemMetadata", {})
                self.stamps[body["entityUrn"], body["aspectName"]] = int(received * 1000)

    def _look_at_the_time(self, body: dict[str, Any]) -> None:
        """Refuse as DataHub's ConditionalWriteValidator: its words, and the time of the last write as it was received."""
        last = self.stamps.get((body["entityUrn"], body["aspectName"]))
        stated = body.get("headers", {}).get("If-Unmodified-Since")
        if stated is None or last is None or is_timeseries(body["aspectName"]):
            return
        since = int(datetime.fromisoformat(stated.replace("Z", "+00:00")).timestamp() * 1000)
        if last > since:
            raise RefusedError(422, f"ValidationException: Item last modified {last} > {since} (epoch ms)")

    def _look_at_creates(self, body: dict[str, Any], catalog: Catalog) -> None:
        """Refuse as DataHub's CreateIfNotExistsValidator, which drops the proposal in silence with its header since 1.4."""
        if body["changeType"] != "CREATE" or catalog.aspect(body["entityUrn"], body["aspectName"]) is None:
            return
        silent = profile(self.version or "0.15.0").is_at_least(1, 4)
        if not (silent and body.get("headers", {}).get("If-None-Match") == "*"):
            raise RefusedError(422, "ValidationException: Cannot perform CREATE since the aspect already exists.")

    def _decoded(self, body: dict[str, Any]) -> Proposal:
        if set(body) - _FIELDS:
            raise RefusedError(400, f"unrecognized field found but not allowed: {sorted(set(body) - _FIELDS)}")
        text, change = body["aspect"]["value"], body["changeType"]
        if not text.isascii():  # Pegasus takes the text for bytes
            raise RefusedError(400, "String contains a character above 0xFF, or would be read as Latin 1")
        if body["aspect"]["contentType"] != _CONTENT[change]:
            raise RefusedError(400, f"unknown content type for {change}")
        value = json.loads(text)
        found = Proposal(body["entityType"], body["entityUrn"], change, body["aspectName"], Payload(value))
        if (why := self.poison(found)) is not None:
            raise why if isinstance(why, RefusedError) else RefusedError(422, why)
        acting = self.acts_as or self.version or "0.15.0"
        if not _is_readable(found.entity_urn, profile(acting)):
            raise RefusedError(500, "java.lang.IllegalArgumentException: unbalanced parentheses in the entity's key")
        if change == "PATCH":
            self.look_at_form(found.aspect_name, value, acting)
            found = Proposal(*_words(found), Payload(plain_operations(found.aspect_name, value)))
        else:
            self._trim(found.aspect_name, value, acting)
        try:
            validator(profile(acting)).check(found)
        except AspectError as error:
            raise RefusedError(422, f"ValidationException: {error}") from error
        if self.strict and (texts := long_texts(found, profile(acting).name)):
            raise RefusedError(422, f"the search index takes no term of {texts[0].size} bytes: {texts[0].field}")
        return found

    @staticmethod
    def look_at_form(aspect_name: str, value: Any, acting: str) -> None:
        form = patch_form(aspect_name, value)
        if not form and aspect_name not in {aspect for aspect, _ in PATCH_FORMS}:
            return
        first, last = PATCH_FORMS.get((aspect_name, form), (_NEWEST, _OLDEST))
        version = parse_version(acting)
        version += (99,) if len(version) == 2 else ()  # "1.5" is the last release of its line
        if not first <= version <= last:
            raise RefusedError(500, _CANNOT_PATCH)

    def _trim(self, aspect_name: str, value: dict[str, Any], acting: str) -> None:
        for aspect, outer, inner in _UNKNOWN_FIELDS.get(acting, ()):
            if aspect == aspect_name and value.get(outer, {}).pop(inner, None) is not None:
                self.trimmed.append((aspect, f"{outer}.{inner}"))

    def rolled_back(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return what a rollback of a run would touch; nothing is changed."""
        if set(body) != {"runId", "dryRun", "safe"}:
            raise RefusedError(400, f"Parameters are {sorted(body)}")
        rows = [
            {"runId": body["runId"], "urn": urn, "aspectName": name, "timestamp": 0, "keyAspect": False}
            for (urn, name), one in self.metadata.items()
            if one.get("runId") == body["runId"]
        ]
        entities = len({row["urn"] for row in rows})
        return {"aspectRowSummaries": rows, "aspectsReverted": len(rows), "entitiesAffected": entities}

    def check_login(self, request: Request) -> None:
        """Refuse a request with another token than ``token``."""
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            raise RefusedError(401, "Unauthorized to perform this action.")

    def check_read(self, urns: list[str]) -> None:
        """Refuse a whole request, as DataHub's AuthUtil, when one of its entities may not be read."""
        if self.forbidden.intersection(urns):
            raise RefusedError(403, "urn:li:corpuser:etl is unauthorized to GET entities.")

    def aspects(self, urn: str, names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the aspects of an entity as OpenAPI gives them, with their systemMetadata; GMS makes a key aspect by itself."""
        yield from self.entities({urn: names})[urn].items()

    def entities(self, wanted: dict[str, list[str]]) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the aspects of several entities, each as of :meth:`aspects`; the catalogue is opened once."""
        with self._lock, Catalog(self.place, readonly=True) as catalog:
            present = {urn: catalog.aspects(urn) for urn in wanted}
        return {urn: dict(self._named(urn, present[urn], names)) for urn, names in wanted.items()}

    def _named(
        self, urn: str, found: dict[str, dict[str, Any]], names: list[str]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        if found and key_aspect(urn) in names:
            found.setdefault(key_aspect(urn), {})
        for name, value in found.items():
            if not names or name in names:
                stamp = {"time": 0, "actor": "urn:li:corpuser:etl"}
                yield name, {"value": value, "systemMetadata": self.metadata.get((urn, name), {}), "auditStamp": stamp}


def _words(one: Proposal) -> tuple[str, str, Any, str]:
    return one.entity_type, one.entity_urn, one.change_type, one.aspect_name


def _is_readable(urn: str, known: Profile) -> bool:
    """Say whether a version reads the URN of a job: 0.15.0 decodes the parentheses of its flow and parses that again."""
    if known.name != "0.15.0" or not urn.startswith("urn:li:dataJob:("):
        return True
    opened = 0
    for sign in unquote(urn[len("urn:li:dataJob:(") : -1].rpartition("),")[0] + ")"):
        opened += {"(": 1, ")": -1}.get(sign, 0)
        if opened < 0:
            return False
    return opened == 0


class _Server(ThreadingHTTPServer):
    """Knows its connections, so that they can be cut."""

    daemon_threads = True
    gms: Gms

    def __init__(self, *stated: Any) -> None:
        super().__init__(*stated)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        for one in list(self._open):
            with suppress(OSError):  # closed by its own thread meanwhile
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a connection that is gone is what the tests want
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet: two would wait for each other's acknowledgement
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((time.time() if timestamp is None else timestamp) + self.server.gms.skew)

    def do_GET(self) -> None:
        self._answered("GET")

    def do_POST(self) -> None:
        self._answered("POST")

    def _answered(self, method: str) -> None:
        gms: Gms = self.server.gms
        writes = "ingestProposal" in self.path
        fault = gms.faults.pop(0) if writes and gms.faults else None
        size = int(self.headers.get("Content-Length") or 0)
        if fault is not None and fault.reset == "mid-body":
            self.rfile.read(size // 2)
            self._reset()
            return
        body = self.rfile.read(size)
        request = Request(method, self.path, dict(self.headers), body, time.monotonic())
        gms.requests.append(request)
        if fault is not None:
            time.sleep(fault.pause)
            if fault.reset == "before":
                self._reset()
                return
            if fault.status:
                self._say(fault.status, fault.body, fault.headers)
                return
        try:
            status, stated = 200, self._asked(gms, request)
        except RefusedError as error:
            status = error.status
            stated = {"exceptionClass": "com.linkedin.restli.server.RestLiServiceException", "message": error.words}
            stated |= {"status": status, "stackTrace": "…"}
        if writes:
            gms.done.append(request)
        time.sleep(fault.linger if fault is not None else 0)
        if fault is not None and fault.reset:
            self._reset(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{" if fault.reset == "mid-answer" else b"")
            return
        self._say(status, stated)

    def _asked(self, gms: Gms, request: Request) -> Any:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/config":
            version = {"acryldata/datahub": {"version": f"v{gms.version}", "commit": "0" * 40}} if gms.version else {}
            return {
                "noCode": "true",
                "versions": version,
                "datahub": {"serverType": "prod", "serverEnv": gms.environment},
            }
        gms.check_login(request)
        if path == "/aspects" and request.method == "POST":
            return self._ingested(gms, query["action"][0], request)
        if path == "/runs" and query["action"] == ["rollback"]:
            return {"value": gms.rolled_back(request.json)}
        if path.startswith("/aspects/"):
            return self._aspect(gms, unquote(path.removeprefix("/aspects/")), query["aspect"][0])
        if path.startswith("/entitiesV2/"):
            urn = unquote(path.removeprefix("/entitiesV2/"))
            names = query.get("aspects", ["List()"])[0].removeprefix("List(").removesuffix(")")
            gms.check_read([urn])
            found = dict(gms.aspects(urn, names.split(",") if names else []))
            if not found:
                raise RefusedError(404, f"Entity {urn} does not exist")
            return {"urn": urn, "aspects": {name: {"name": name, "version": 0, **held} for name, held in found.items()}}
        if path.startswith("/openapi/v3/entity/") and path.endswith("/batchGet") and gms.batches:
            wanted = {one["urn"]: sorted(set(one) - {"urn"}) for one in request.json}
            gms.check_read(list(wanted))
            found = [{"urn": urn, **aspects} for urn, aspects in gms.entities(wanted).items()]
            return [one for one in found if len(one) > 1]
        raise RefusedError(404, f"No root resource defined for path '{path}'")

    @staticmethod
    def _aspect(gms: Gms, urn: str, name: str) -> Any:
        found = dict(gms.aspects(urn, [name]))
        if not found:
            raise RefusedError(404, f"Did not find urn: {urn} aspect: {name} version: 0")
        return {"version": 0, "aspect": {f"com.linkedin.x.{name[0].upper()}{name[1:]}": found[name]["value"]}}

    @staticmethod
    def _ingested(gms: Gms, action: str, request: Request) -> Any:
        if len(request.body) > LIMIT:
            raise RefusedError(413, "Request Entity Too Large")
        if request.headers.get("X-RestLi-Protocol-Version") != "2.0.0":
            raise RefusedError(400, "Rest.li protocol version is not 2.0.0")
        body = request.json
        if body.get("async") != "false":
            raise RefusedError(400, "the tests require the reason of a refusal")
        received = time.time() + gms.skew - (time.monotonic() - request.at)
        if action == "ingestProposalBatch":
            if not gms.batches:
                raise RefusedError(400, "POST operation named ingestProposalBatch not supported on resource 'aspects'")
            if not 0 < len(body["proposals"]) <= 200:
                raise RefusedError(400, "the tests want batches of at most 200")
            gms.take(body["proposals"], received)
        elif action == "ingestProposal":
            gms.take([body["proposal"]], received)
        else:
            raise RefusedError(400, f"POST operation named {action} not supported on resource 'aspects'")
        return {"value": "success"}

    def _say(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        self.send_response(status)
        kind = {"Content-Type": "application/json"} if not isinstance(body, bytes) else {}
        for name, value in {**kind, **(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _reset(self, start: bytes = b"") -> None:
        """Tear the connection down, after the first bytes of an answer."""
        if start:
            self.connection.sendall(start)
            time.sleep(0.05)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
