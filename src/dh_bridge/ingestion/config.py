"""What a recipe may say of the source, and the settings that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from datahub.configuration.common import ConfigModel
from pydantic import Field

from dh_bridge.datahub.profiles import profile
from dh_bridge.delivery import with_server_version
from dh_bridge.errors import SettingsError
from dh_bridge.settings.loading import flags_of, load
from dh_bridge.sinks.rest.server import server_info

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

    from dh_bridge.settings import Settings

_LOCATION = "source.config"


class RecipeConfig(ConfigModel):
    """``source.config`` of a recipe."""

    events: list[str] = Field(
        min_length=1, description="Files and folders of OpenLineage events: JSON, NDJSON, each also gzipped."
    )
    config: str | None = Field(
        default=None, description="A settings file; else DH_BRIDGE_CONFIG, or dh_bridge.yml in the working folder."
    )
    settings: dict[str, Any] = Field(
        default={}, description="Any settings of dh_bridge by their keys; they win over variables and file."
    )
    ledger: str | None = Field(
        default=None, description="A file that remembers runs, and what was written: the setting ledger.file."
    )
    report: bool = Field(
        default=False, description="Count in the report what became of every leaf; it costs half of the speed."
    )

    def resolve_settings(self, graph: DataHubGraph | None) -> Settings:
        """Return the settings, with the profile that the server of ``graph`` wants unless they choose one.

        A SettingsError names the first thing that cannot be used.
        """
        settings = load(self.config, flags=[*flags_of(self.settings, _LOCATION, ledger=self.ledger)]).settings
        for path in self.events:
            if not Path(path).exists():
                raise SettingsError(
                    f"there is no {path}", location=f"{_LOCATION}.events", remedy="name a file or a folder"
                )
        if settings.max_new_entities_per_hour is not None:
            raise SettingsError(
                "DataHub's sinks cannot say which entities are new",
                location="max_new_entities_per_hour",
                remedy="leave it out, or use dh-bridge emit --ledger",
            )
        if settings.datahub_version is not None:
            profile(settings.datahub_version)
            return settings
        return settings if graph is None else with_server_version(server_info(graph.get_config()).version, settings)
