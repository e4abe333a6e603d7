"""The part of a pipeline that its runs and checks use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.options import Options


class Recorder(Protocol):
    """The part of a pipeline that its runs and checks use. :class:`~dh_bridge.sdk.pipeline.Pipeline` implements it.

    ``run.py`` and ``assertion.py`` need no import of ``pipeline.py``, which imports both.
    """

    options: Options

    def send(self, proposals: Iterable[Proposal]) -> None:
        """Deliver proposals: all of them, or none if one is invalid."""
        ...

    def now_micros(self) -> int:
        """Return the time in microseconds since 1970."""
        ...

    def require_field(self, aspect: str, path: str, label: str) -> None:
        """Raise a SettingsError if the DataHub version has no such field."""
        ...
