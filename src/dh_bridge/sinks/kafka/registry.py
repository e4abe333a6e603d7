"""The schema registry (Confluent's API): which envelope to write, and under which id.

The registry that is part of GMS knows two of its calls only: it takes a schema, answers with the id of its own whatever was
posted, and gives the schema of an id (SchemaRegistryController of datahub-project/datahub).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

import requests
from urllib3.util.retry import Retry

from dh_bridge.errors import SettingsError, SinkError, empty_frames
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.bounded_http import ACCEPT_ENCODING, AnswerTooLargeError, BoundedAdapter, read_answer
from dh_bridge.sinks.kafka.options import REGISTRY

if TYPE_CHECKING:
    from dh_bridge.sinks.kafka.options import RegistryOptions

_TYPE = "application/vnd.schemaregistry.v1+json"
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_NO_LATEST = (404, 405, 501)
"""No such subject, or no such call: GMS answers the latter."""
_WORDS = 300
_NOW = {
    401: "set kafka.registry.user and password, or kafka.registry.token",
    403: "give the user the right to read the subject and to register, or set kafka.registry.register to false",
    404: "is kafka.registry.url the address of a schema registry, with its path?",
    409: "another schema stands there that ours does not fit: set kafka.registry.register to false to write that one",
}


class _Answer(NamedTuple):
    status: int
    content: bytes


class Registry:
    """One registry; nothing is asked before :meth:`envelope`."""

    def __init__(self, options: RegistryOptions) -> None:
        self._url = _address(options.url)
        self.where = f"schema registry {self._url}"
        self._options = options
        self._session = requests.Session()
        self._session.headers.update(
            {
                "Accept": f"{_TYPE}, application/json",
                "Accept-Encoding": ACCEPT_ENCODING,
                **options.headers,
            }
        )
        self._session.auth = _Login(options)
        self._verify: bool | str = (_file(options.ca_bundle, "ca_bundle") or True) if options.verify else False
        certificate = _file(options.client_certificate, "client_certificate")
        key = _file(options.client_key, "client_key")
        if certificate:
            self._session.cert = (certificate, key) if key else certificate
        again = Retry(
            total=3, backoff_factor=0.5, status_forcelist=_BUSY, allowed_methods=None, raise_on_status=False,
            respect_retry_after_header=False,
        )  # fmt: skip
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, BoundedAdapter(max_retries=again))

    def envelope(self, subject: str, ours: dict[str, Any]) -> tuple[int, Any]:
        """Return the id and the schema to write messages of ``subject`` with: the registry's latest, else ``ours``, registered.

        A SinkError when the registry does not answer (retryable), or does not let us.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        latest = self._ask("GET", f"{path}/latest")
        if latest.status not in _NO_LATEST:
            said = self._said(latest)
            return self._number(said), self._schema(said)
        if not self._options.register:
            raise SinkError(
                f"has no schema of {subject}, and we are not to register ours",
                where=self.where,
                now="register it, or set kafka.registry.register to true",
            )
        number = self._number(self._said(self._ask("POST", path, {"schema": json.dumps(ours)})))
        return number, self.schema(number)

    def schema(self, number: int) -> Any:
        """Return the schema of an id."""
        return self._schema(self._said(self._ask("GET", f"/schemas/ids/{number}")))

    def _ask(self, method: str, path: str, body: Any = None) -> _Answer:
        """Return the answer, asked again while the registry is busy."""
        try:
            response = self._session.request(
                method,
                self._url + path,
                data=None if body is None else json.dumps(body).encode(),
                headers={} if body is None else {"Content-Type": _TYPE},
                timeout=self._options.timeout,
                verify=self._verify,  # here, else REQUESTS_CA_BUNDLE would win
                allow_redirects=False,
                stream=True,
            )
            return _Answer(response.status_code, read_answer(response))
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            empty_frames(error)
            raise self._error(error) from error

    def _error(self, error: OSError | ValueError) -> SinkError:
        """Return the error of a request that was not answered."""
        if isinstance(error, requests.exceptions.SSLError):
            return SinkError(
                "its certificate cannot be trusted",
                where=self.where,
                now="name your authority's certificates in kafka.registry.ca_bundle",
            )
        if isinstance(error, AnswerTooLargeError):
            return SinkError(f"answers with {error}", where=self.where, now=_NOW[404])
        if isinstance(error, ValueError):  # an address, a proxy's, or a header with a sign that none can have
            return SinkError(f"cannot be asked: {type(error).__name__}", where=self.where, now="look at kafka.registry")
        if isinstance(error, requests.exceptions.Timeout | TimeoutError):
            return SinkError(f"no answer within {self._options.timeout:g} s", where=self.where, retryable=True)
        now = "kafka.registry.url or KAFKA_SCHEMAREGISTRY_URL says where yours is"
        return SinkError("the connection failed", where=self.where, now=now, retryable=True)

    def _said(self, answer: _Answer) -> dict[str, Any]:
        status = answer.status
        try:
            said = load_json(answer.content)
        except ValueError:
            said = None
        if status >= 300:
            words = str(said.get("message", "")) if isinstance(said, dict) else ""
            raise SinkError(
                f"answers {status}" + (f": {words[:_WORDS]}" if words else ""),
                where=self.where,
                now=_NOW.get(status, ""),
                retryable=status in _BUSY,
            )
        if not isinstance(said, dict):
            raise SinkError("answers with something else than a registry does", where=self.where, now=_NOW[404])
        return said

    def _number(self, said: dict[str, Any]) -> int:
        number = said.get("id")
        if not isinstance(number, int):
            raise SinkError("answers with no id of a schema", where=self.where, now=_NOW[404])
        return number

    def _schema(self, said: dict[str, Any]) -> Any:
        try:
            return load_json(said["schema"])
        except (KeyError, TypeError, ValueError) as error:
            raise SinkError("answers with no schema in Avro", where=self.where, now=_NOW[404]) from error

    def close(self) -> None:
        """Close the session."""
        self._session.close()


class _Login(requests.auth.AuthBase):
    """Says who we are; an auth of our own, else requests would say what ~/.netrc says."""

    def __init__(self, options: RegistryOptions) -> None:
        self._basic = None
        self._bearer = f"Bearer {options.token}" if options.token else None
        if options.user is not None:
            self._basic = requests.auth.HTTPBasicAuth(options.user, options.password or "")

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._basic is not None:
            self._basic(request)
        elif self._bearer is not None:
            request.headers["Authorization"] = self._bearer
        return request


def _address(url: str | None) -> str:
    """Return the address without its last slash; a SettingsError for what is none, or holds a password."""
    url = url or REGISTRY
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        named = False
    if not named or parts.query or parts.fragment:
        raise SettingsError(
            "is no address of a schema registry", where="kafka.registry.url", now="e.g. http://localhost:8081"
        )
    if parts.username or parts.password:
        raise SettingsError(
            "the address holds a user or a password, which would be shown",
            where="kafka.registry.url",
            now="use kafka.registry.user and kafka.registry.password",
        )
    return url.rstrip("/")


def _file(path: str | None, key: str) -> str | None:
    if path is not None and not Path(path).exists():
        raise SettingsError(f"{path} does not exist", where=f"kafka.registry.{key}", now="name a file in PEM form")
    return path
