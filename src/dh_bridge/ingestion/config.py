"""The options of the source in a recipe, and the settings that they result in."""

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
        min_length=1,
        description="Files and folders of OpenLineage events: JSON or NDJSON, also packed with gzip or Zstandard.",
    )
    config: str | None = Field(
        default=None,
        description="Path of a settings file. Default: DH_BRIDGE_CONFIG, else dh_bridge.yml in the working folder.",
    )
    settings: dict[str, Any] = Field(
        default={},
        description="Settings of dh_bridge by key. They override environment variables and the settings file.",
    )
    ledger: str | None = Field(
        default=None, description="File that stores the state of runs and what was written: the setting ledger.file."
    )
    report: bool = Field(
        default=False, description="Count the outcome of each field of the events in the report. This halves the speed."
    )

    def resolve_settings(self, graph: DataHubGraph | None) -> Settings:
        """Return the settings, with the profile that the server of ``graph`` wants unless they choose one.

        A SettingsError names the first thing that cannot be used.
        """
        settings = load(self.config, flags=[*flags_of(self.settings, _LOCATION, ledger=self.ledger)]).settings
        for path in self.events:
            if not Path(path).exists():
                raise SettingsError(
                    f"{path} does not exist", location=f"{_LOCATION}.events", remedy="use the path of a file or folder"
                )
        if settings.max_new_entities_per_hour is not None:
            raise SettingsError(
                "not supported: DataHub's sinks do not report which entities are new",
                location="max_new_entities_per_hour",
                remedy="remove it, or use dh-bridge emit --ledger FILE",
            )
        if settings.datahub_version is not None:
            profile(settings.datahub_version)
            return settings
        return settings if graph is None else with_server_version(server_info(graph.get_config()).version, settings)
