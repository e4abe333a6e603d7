"""CREATE proposals: aspects that DataHub writes only where the entity does not have them.

If the aspect is present, a server rejects its CREATE, "Cannot perform CREATE since the aspect already exists".
With the header ``If-None-Match: *`` newer servers drop such a proposal without an error. Both are in DataHub's
CreateIfNotExistsValidator (entity-registry, package com.linkedin.metadata.aspect.validation).
"""

from __future__ import annotations

from dh_bridge.datahub.profiles import profile

IF_ABSENT = {"If-None-Match": "*"}
"""Headers of a CREATE proposal on the wire."""

LEFT_OUT = (
    "state=none (properties and relationships of runs without a START in this call: this target cannot write an aspect only if it"
    " is absent. Use --ledger FILE with a target that supports a ledger, set the DataHub version to 1.4 or later, or set"
    " single_event: true for a producer that sends no START)"
)
"""The rule by which a sink leaves a CREATE proposal out, as the summary shows it."""

_HEADER_MIN_VERSION = (1, 4)
"""The first version that drops a CREATE without an error. 0.15.0 does not know the header."""


def drops_creates_silently(version: str | None) -> bool:
    """Return whether a server of this version drops a CREATE of a present aspect; None is the newest version."""
    return profile(version).is_at_least(*_HEADER_MIN_VERSION)
