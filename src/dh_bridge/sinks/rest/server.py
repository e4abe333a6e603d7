"""Who answers: ``GET /config`` of DataHub's metadata service, and the version that its proposals are rendered for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.datahub.versions import core_version
from dh_bridge.errors import SinkError
from dh_bridge.json_safe import load_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.sinks.rest.responses import Answer


class Server(NamedTuple):
    """What a server says of itself: the version as it names it, None for a build without one, and whether it is DataHub Cloud."""

    named: str | None
    cloud: bool

    @property
    def version(self) -> str | None:
        """Return the version of DataHub's core that its aspects are those of; None when it cannot be told."""
        return core_version(self.named or "", cloud=self.cloud)


def server(found: Answer, where: str) -> Server:
    """Read the answer to ``GET /config``; a SinkError when it is no metadata service's."""
    try:
        config = load_json(found.content) if found.status == 200 else None
    except ValueError:
        config = None
    if not isinstance(config, dict) or not _is_true(config.get("noCode")):
        raise SinkError(
            "is no metadata service of DataHub: /config says nothing that one says",
            where=where,
            now="name port 8080, or the web interface's address with /api/gms",
        )
    return described(config)


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def described(config: Mapping[str, Any]) -> Server:
    """Read what ``GET /config`` of a metadata service says."""
    named = _at(config, "versions", "acryldata/datahub").get("version")
    environment = _at(config, "datahub").get("serverEnv")
    return Server(named if isinstance(named, str) else None, isinstance(environment, str) and environment != "core")


def _at(config: Mapping[str, Any], *steps: str) -> Mapping[str, Any]:
    found: Any = config
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
