"""Help for targets that are servers: the `datahub` command and the page of DataHub that answer the question."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

import click

from dh_bridge.catalog.edges import entity_type
from dh_bridge.cli.terminal import echo
from dh_bridge.delivery import rest_options
from dh_bridge.sinks.base import find_kind, strip_credentials

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

_PAGES = {
    "dataset": "dataset",
    "dataJob": "tasks",
    "dataFlow": "pipelines",
    "dataProcessInstance": "dataProcessInstance",
    "container": "container",
    "assertion": "assertion",
    "tag": "tag",
}
"""Entity type -> the first part of the path of its page."""

_SEARCH_TYPES = {"dataset": "dataset", "dataJob": "data_job", "dataFlow": "data_flow", "assertion": "assertion"}
"""Entity type -> its name in searches; runs cannot be searched."""

_GMS_PORT, _WEB_PORT = 8080, 9002
"""DataHub's default ports of the metadata service and of the web application."""


def show_server_help(  # noqa: PLR0913 - what the commands differ in
    target: str, settings: Settings, *, urn: str = "", command: str = "", tab: str = "", entity: str = ""
) -> bool:
    """If ``target`` is a server, print the command and the page that answer the question there.

    Args:
        target: What the user passed as FILE.
        settings: The settings, for the server of ``rest:``.
        urn: The entity that is asked for; another text is a search.
        command: The `datahub` command; the default is ``datahub get`` for a URN and ``datahub search`` for a text.
        tab: The tab of the page.
        entity: The entity type that a search is limited to.

    Returns:
        Whether the target is a server.
    """
    kind = find_kind(target)
    if kind is None or not kind.is_server:
        return False
    context = click.get_current_context()
    if context.params.get("as_json"):
        raise click.UsageError(f"--json needs the file of a catalogue or ledger, but {context.info_name} got a server.")
    server = rest_options(settings, target, os.environ)["server"]
    is_urn = urn.startswith("urn:li:")
    echo(f"{context.command_path} reads catalogues and ledgers. For a server, use DataHub itself:")
    search_type = _SEARCH_TYPES.get(entity, "")
    if not command and is_urn:
        command = f"datahub get --urn {shlex.quote(urn)}"
    elif not command:
        condition = f" --where 'entity_type = {search_type}'" if search_type else ""
        command = f"datahub search {shlex.quote(urn or '*')}{condition}"
    echo(f"  command  {command}")
    if server:
        path = (
            f"{_PAGES.get(entity_type(urn), '')}/{quote(urn, safe='')}"
            if is_urn
            else f"search?query={quote(urn or '*')}"
        )
        if search_type and not is_urn:
            path += f"&filter__entityType___false___EQUAL___0={search_type.upper()}"
        echo(f"  page     {_web_address(server)}/{path}" + (f"  (tab {tab})" if tab and is_urn else ""))
    return True


def _web_address(server: str) -> str:
    """Return the address of the web application beside a metadata service, by DataHub's defaults."""
    parts = urlsplit(strip_credentials(server))
    host = parts.netloc
    if parts.port == _GMS_PORT:
        host = f"{host.rpartition(':')[0]}:{_WEB_PORT}"
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/").removesuffix("/api/gms"), "", ""))
