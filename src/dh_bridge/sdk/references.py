"""References of a caller to datasets, jobs and runs: pairs, texts or URNs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, Union

import msgspec

from dh_bridge.datahub import urns
from dh_bridge.errors import EventError
from dh_bridge.naming import Name

if TYPE_CHECKING:
    from dh_bridge.options import Options

DatasetRef = Union[str, "tuple[str, str]"]
"""``(namespace, name)``, both in one text (``"s3://lake/orders"``, ``"bigquery:p.d.t"``), or a dataset URN."""


class RunLike(Protocol):
    """A recorded run: a :class:`~dh_bridge.sdk.run.Run`."""

    urn: str
    run_id: str
    namespace: str
    name: str


RunRef = Union[str, "tuple[str, str, str]", RunLike]
"""A :class:`~dh_bridge.sdk.run.Run`, ``(job namespace, job name, run id)`` or a dataProcessInstance URN."""


class ResolvedDataset(msgspec.Struct, frozen=True):
    """A dataset: its URN and, unless the caller passed a URN, its pair and name."""

    urn: str
    pair: tuple[str, str] | None = None
    name: Name | None = None

    def spell_column(self, column: str) -> str:
        """Return the path of a column as the system's connector writes it."""
        return column if self.name is None else self.name.spell_column(column)


def resolve_dataset(ref: DatasetRef, options: Options) -> ResolvedDataset:
    """Return the dataset of a reference; an EventError for an invalid one."""
    if isinstance(ref, str):
        if ref.startswith("urn:"):
            if urns.type_if_urn(ref) != "dataset":
                raise EventError(
                    f"{ref!r} is not a dataset",
                    location="dataset",
                    remedy="only datasets can be read, written and checked",
                )
            return ResolvedDataset(ref)
        pair = _split_dataset_name(ref, options)
    else:
        pair = _require_strings(ref, 2, "dataset")
    name = options.naming(*pair)
    if name.endpoint is None:
        raise name.refusal or EventError(
            f"{name!r} is not a dataset", location="dataset", remedy="run dh-bridge urn NAMESPACE NAME for the reason"
        )
    return ResolvedDataset(name.endpoint, pair, name)


def to_references(refs: Any) -> tuple[Any, ...]:
    """Return references as a list: several, one as a text or a run, or none; any other object is one reference."""
    if refs is None:
        return ()
    return (
        (refs,) if isinstance(refs, str) or hasattr(refs, "run_id") or not isinstance(refs, Iterable) else tuple(refs)
    )


def job_pair(ref: tuple[str, str]) -> tuple[str, str]:
    """Return ``(namespace, name)`` of a job; an EventError for an invalid reference."""
    return _require_strings(ref, 2, "job")


def run_names(ref: RunRef) -> tuple[str, str, str] | None:
    """Return ``(job namespace, job name, run id)`` of a run; None for a run that is known by its URN only."""
    if isinstance(ref, str):
        return None
    return _require_strings(ref, 3, "run") if isinstance(ref, (tuple, list)) else (ref.namespace, ref.name, ref.run_id)


def run_urn(ref: RunRef, options: Options) -> str:
    """Return the URN of a run; an EventError for an invalid reference."""
    if isinstance(ref, str):
        if urns.type_if_urn(ref) != "dataProcessInstance":
            raise EventError(
                f"{ref!r} is not the URN of a run", location="run", remedy="pass (job namespace, job name, run id)"
            )
        return ref
    if isinstance(ref, (tuple, list)):
        return options.identity.run_urn(*_require_strings(ref, 3, "run"))
    if not hasattr(ref, "run_id"):
        _require_strings(ref, 3, "run")
    return ref.urn


def _split_dataset_name(text: str, options: Options) -> tuple[str, str]:
    """Return the namespace and the name of a dataset that is one text.

    A known system claims the longest prefix that is a namespace of it. Of other texts the host of the URL is the namespace,
    else what precedes the first slash.
    """
    if options.naming.is_namespace(text):
        raise _not_a_dataset(text, "is a namespace without the name of a dataset", "pass (namespace, name)")
    known_pair = options.naming.split_identifier(text)
    pair = _split_at_slash(text)
    if known_pair is None or (pair is not None and _endpoint(pair, options) == _endpoint(known_pair, options)):
        if pair is None:
            raise _not_a_dataset(text, "is not the name of a dataset", "pass (namespace, name) or a dataset URN")
        return pair  # as it is spelled
    return known_pair


def _split_at_slash(text: str) -> tuple[str, str] | None:
    """Return a text cut behind the host of a URL, else at the first slash; None if there is nothing to cut."""
    scheme, colon, remainder = text.partition("://")
    if colon:
        host, slash, name = remainder.partition("/")
        if not host:  # file:///path: the root belongs to the name
            name = f"/{name}"
        namespace = f"{scheme}://{host}"
    else:
        namespace, slash, name = text.partition("/")
    if not slash or not name.strip("/"):
        return None
    if not namespace:
        raise _not_a_dataset(text, "is not the name of a dataset", f"for a file, use file://{text}")
    return namespace, name


def _endpoint(pair: tuple[str, str], options: Options) -> str | None:
    return options.naming(*pair).endpoint


def _not_a_dataset(text: str, problem: str, remedy: str) -> EventError:
    return EventError(f"{text!r} {problem}", location="dataset", remedy=remedy)


def _require_strings(ref: object, length: int, kind: str) -> tuple[Any, ...]:
    if (
        not isinstance(ref, (tuple, list))
        or len(ref) != length
        or not all(isinstance(part, str) and part for part in ref)
    ):
        expected = "(job namespace, job name, run id)" if length == 3 else "(namespace, name)"
        raise EventError(f"expected a {kind}, got {ref!r}", location=kind, remedy=f"pass {expected}")
    return tuple(ref)
