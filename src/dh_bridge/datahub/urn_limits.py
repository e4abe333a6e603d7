"""URNs that some servers cannot read, although their schemas allow them."""

from __future__ import annotations

from urllib.parse import unquote

from dh_bridge.datahub import urns
from dh_bridge.datahub.profiles import server_profile

_TWICE_PARSING_VERSION = "0.15.0"
"""The version that decodes the flow inside a job's URN and parses it again; later ones do not."""


def unreadable_urn(urn: str, version: str | None) -> str | None:
    """Return why a server of a version rejects all proposals of the entity ``urn``, None if it accepts them.

    DataHub 0.15.0 decodes ``%28`` and ``%29`` of a job's flow, so an unbalanced parenthesis of the namespace ends the flow too early.
    The URN is the same for all versions: with another URN, the job would be another one after an upgrade of the server.
    """
    if (
        "%2" not in urn
        or version is None
        or not urn.startswith("urn:li:dataJob:")
        or server_profile(version).name != _TWICE_PARSING_VERSION
    ):
        return None
    if not urns.is_urn(urn):
        return None
    flow = unquote(urns.parse_urn(urn)[1][0])
    if _is_balanced(flow):
        return None
    return (
        f"DataHub {_TWICE_PARSING_VERSION} cannot read an unbalanced parenthesis in the namespace or flow of a job ({flow}). "
        "Rename the namespace, or upgrade DataHub"
    )


def _is_balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0
