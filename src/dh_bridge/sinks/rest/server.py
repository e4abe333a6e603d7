"""The server: ``GET /config`` of DataHub's metadata service, and the version that its proposals are rendered for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.datahub.versions import core_version
from dh_bridge.errors import SinkError
from dh_bridge.json_safe import load_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.sinks.rest.responses import GmsResponse


class ServerInfo(NamedTuple):
    """The server's answer: its version, None for a build without one, and whether it is DataHub Cloud."""

    version_text: str | None
    is_cloud: bool

    @property
    def version(self) -> str | None:
        """Return the version of DataHub's core that defines its aspects; None if it is unknown."""
        return core_version(self.version_text or "", cloud=self.is_cloud)


def parse_config(response: GmsResponse, location: str) -> ServerInfo:
    """Parse the answer to ``GET /config``; a SinkError if it is not that of a metadata service."""
    try:
        config = load_json(response.content) if response.status == 200 else None
    except ValueError:
        config = None
    if not isinstance(config, dict) or not _is_true(config.get("noCode")):
        raise SinkError(
            "not a DataHub metadata service: unexpected response from /config",
            location=location,
            remedy="use port 8080, or the address of the web interface with /api/gms",
        )
    return server_info(config)


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def server_info(config: Mapping[str, Any]) -> ServerInfo:
    """Parse the body of ``GET /config``."""
    version_text = _nested_object(config, "versions", "acryldata/datahub").get("version")
    environment = _nested_object(config, "datahub").get("serverEnv")
    return ServerInfo(
        version_text if isinstance(version_text, str) else None, isinstance(environment, str) and environment != "core"
    )


def _nested_object(config: Mapping[str, Any], *steps: str) -> Mapping[str, Any]:
    value: Any = config
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
