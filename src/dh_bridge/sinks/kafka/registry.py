"""The schema registry (Confluent's API): returns the envelope schema and its id.

The registry that is part of GMS supports two calls only: posting a schema, which returns the id of GMS's own schema, and
getting the schema of an id (SchemaRegistryController of datahub-project/datahub).
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
from dh_bridge.sinks.bounded_http import ACCEPT_ENCODING, BoundedAdapter, ResponseTooLargeError, read_response
from dh_bridge.sinks.kafka.options import DEFAULT_REGISTRY_URL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.sinks.kafka.options import RegistryOptions

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_RETRYABLE_STATUSES = (408, 425, 429, 500, 502, 503, 504)
_NO_LATEST_STATUSES = (404, 405, 501)
"""The subject does not exist, or the call: GMS returns the latter."""
_MAX_MESSAGE_CHARS = 300
_REMEDIES = {
    401: "set basic.auth.user.info or bearer.auth.token in kafka.registry.config",
    403: "grant the user the permission to read the subject and to register, or set auto.register.schemas to false in"
    " kafka.registry.config",
    404: "check that kafka.registry.url is the address of a schema registry, with its path",
    409: "the registry has an incompatible schema: to write with that schema, set auto.register.schemas to false in"
    " kafka.registry.config",
}


class _RegistryResponse(NamedTuple):
    status: int
    content: bytes


class SchemaRegistry:
    """One registry; the first request is that of :meth:`envelope`."""

    def __init__(self, options: RegistryOptions) -> None:
        self._url = _check_url(options.url)
        self.location = f"schema registry {self._url}"
        self._options = options
        self._session = requests.Session()
        self._session.headers.update(
            {
                "Accept": f"{_CONTENT_TYPE}, application/json",
                "Accept-Encoding": ACCEPT_ENCODING,
            }
        )
        self._session.auth = _RegistryAuth(options.config)
        self._verify: bool | str = (
            _config_file(options, "ssl.ca.location") or True
            if _is_enabled(options, "enable.ssl.certificate.verification")
            else False
        )
        certificate = _config_file(options, "ssl.certificate.location")
        key = _config_file(options, "ssl.key.location")
        if certificate:
            self._session.cert = (certificate, key) if key else certificate
        retry_policy = Retry(
            total=3, backoff_factor=0.5, status_forcelist=_RETRYABLE_STATUSES, allowed_methods=None, raise_on_status=False,
            respect_retry_after_header=False,
        )  # fmt: skip
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, BoundedAdapter(max_retries=retry_policy))

    def envelope_schema(self, subject: str, bundled_schema: dict[str, Any]) -> tuple[int, Any]:
        """Return the id and the schema for messages of ``subject``.

        The registry's latest, else ``bundled_schema``, which is registered.

        A SinkError if the registry does not answer (retryable) or rejects the login.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        latest = self._request("GET", f"{path}/latest")
        if latest.status not in _NO_LATEST_STATUSES:
            document = self._parse_response(latest)
            return self._schema_id(document), self._parse_schema(document)
        if not _is_enabled(self._options, "auto.register.schemas"):
            raise SinkError(
                f"no schema of {subject}, and auto.register.schemas is false",
                location=self.location,
                remedy="register the schema, or set auto.register.schemas to true in kafka.registry.config",
            )
        schema_id = self._schema_id(
            self._parse_response(self._request("POST", path, {"schema": json.dumps(bundled_schema)}))
        )
        return schema_id, self.schema(schema_id)

    def schema(self, schema_id: int) -> Any:
        """Return the schema of an id."""
        return self._parse_schema(self._parse_response(self._request("GET", f"/schemas/ids/{schema_id}")))

    def _request(self, method: str, path: str, body: Any = None) -> _RegistryResponse:
        """Return the response, retried while the registry is busy."""
        try:
            response = self._session.request(
                method,
                self._url + path,
                data=None if body is None else json.dumps(body).encode(),
                headers={} if body is None else {"Content-Type": _CONTENT_TYPE},
                timeout=self._options.timeout,
                verify=self._verify,  # here, else REQUESTS_CA_BUNDLE would win
                allow_redirects=False,
                stream=True,
            )
            return _RegistryResponse(response.status_code, read_response(response))
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            empty_frames(error)
            raise self._connection_error(error) from error

    def _connection_error(self, error: OSError | ValueError) -> SinkError:
        """Return the error of a request without a response."""
        if isinstance(error, requests.exceptions.SSLError):
            return SinkError(
                "the certificate of the server is not trusted",
                location=self.location,
                remedy="set ssl.ca.location in kafka.registry.config to the certificates of your authority (CA)",
            )
        if isinstance(error, ResponseTooLargeError):
            return SinkError(f"the response has {error}", location=self.location, remedy=_REMEDIES[404])
        if isinstance(error, ValueError):  # an address, a proxy's, or a header with a sign that none can have
            return SinkError(
                f"cannot send the request: {type(error).__name__}",
                location=self.location,
                remedy="check kafka.registry",
            )
        if isinstance(error, requests.exceptions.Timeout | TimeoutError):
            return SinkError(f"no response within {self._options.timeout:g} s", location=self.location, retryable=True)
        remedy = "set kafka.registry.url or KAFKA_SCHEMAREGISTRY_URL to the address of your registry"
        return SinkError("connection failed", location=self.location, remedy=remedy, retryable=True)

    def _parse_response(self, response: _RegistryResponse) -> dict[str, Any]:
        status = response.status
        try:
            document = load_json(response.content)
        except ValueError:
            document = None
        if status >= 300:
            message = str(document.get("message", "")) if isinstance(document, dict) else ""
            raise SinkError(
                f"HTTP {status}" + (f": {message[:_MAX_MESSAGE_CHARS]}" if message else ""),
                location=self.location,
                remedy=_REMEDIES.get(status, ""),
                retryable=status in _RETRYABLE_STATUSES,
            )
        if not isinstance(document, dict):
            raise SinkError(
                "unexpected response, not one of a schema registry", location=self.location, remedy=_REMEDIES[404]
            )
        return document

    def _schema_id(self, document: dict[str, Any]) -> int:
        schema_id = document.get("id")
        if not isinstance(schema_id, int):
            raise SinkError("the response has no schema id", location=self.location, remedy=_REMEDIES[404])
        return schema_id

    def _parse_schema(self, document: dict[str, Any]) -> Any:
        try:
            return load_json(document["schema"])
        except (KeyError, TypeError, ValueError) as error:
            raise SinkError("the response has no Avro schema", location=self.location, remedy=_REMEDIES[404]) from error

    def close(self) -> None:
        """Close the session."""
        self._session.close()


class _RegistryAuth(requests.auth.AuthBase):
    """The login of the registry; without an auth object, requests would use ~/.netrc."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._basic = None
        token = config.get("bearer.auth.token")
        self._bearer = f"Bearer {token}" if token else None
        user, _, password = config.get("basic.auth.user.info", "").partition(":")
        if user:
            self._basic = requests.auth.HTTPBasicAuth(user, password)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._basic is not None:
            self._basic(request)
        elif self._bearer is not None:
            request.headers["Authorization"] = self._bearer
        return request


def _check_url(url: str | None) -> str:
    """Return the address without its last slash; a SettingsError if it is invalid or contains a password."""
    url = url or DEFAULT_REGISTRY_URL
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment:
        raise SettingsError(
            "not the address of a schema registry", location="kafka.registry.url", remedy="e.g. http://localhost:8081"
        )
    if parts.username or parts.password:
        raise SettingsError(
            "the address contains a user or a password, which messages would show",
            location="kafka.registry.url",
            remedy="use basic.auth.user.info in kafka.registry.config",
        )
    return url.rstrip("/")


def _is_enabled(options: RegistryOptions, name: str) -> bool:
    """Return a switch of the configuration, which is on unless it is ``false``."""
    return options.config.get(name, "true").lower() != "false"


def _config_file(options: RegistryOptions, name: str) -> str | None:
    """Return the path in the configuration; a SettingsError if the file does not exist."""
    path = options.config.get(name)
    if path is not None and not Path(path).exists():
        raise SettingsError(
            f"{path} does not exist", location=f"kafka.registry.config, {name}", remedy="set it to a file in PEM format"
        )
    return path
