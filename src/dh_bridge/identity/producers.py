"""Producers: the sender of an event, and its platform (``mappings/producers/``).

Version parts of a producer's URI never matter: they would split a job's history at every upgrade.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from dh_bridge.bundled import convert_document, load_mapping, load_yaml, mapping_files
from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_TOKENS = re.compile(r"\{\*\w+\}|\{\w+\}|[\[\]]|[^{}\[\]]+|.")
_MAX_URI_LENGTH = 2_000  # characters of a URI that is compared; patterns are quadratic at worst
_BRACKETS = {"[": "(?:", "]": ")?"}
_ONE_SLASH = re.compile(r"(https?):/(?!/)", re.IGNORECASE)
#: Separates the URI of an unknown producer from the producer family in the facet ``jobType``.
_INTEGRATION = "#integration="
Parents = Literal["all", "jobs", "none"]


class NameForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of job names that is not cut at the first dot."""

    pattern: str
    flow: str | None = None
    job: str | None = None
    shared: bool = False


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job, and the ids that it becomes."""

    namespace: str
    name: str
    flow: str
    job: str
    producer: str | None = None
    display: str | None = None


class ProducerMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of ``mappings/producers/``, as it is written; ``platform`` is DataHub's platform id.

    ``integrations``: words of ``jobType.integration`` that mean it, besides the stem of its file.
    ``single_event``: each run is one event without a START, which carries all that is known.
    ``assertion_label``: what DataHub shows as the type of its checks.
    ``parents``: which of its jobs have parents of its own; others' parents are of another tool, as a rule an orchestrator.
    ``projections``: schemas of outputs hold what a statement writes, which is all of a table only where it makes it.
    ``repeats``: column lineage of RUNNING is that of START.
    ``frames``: columns that are those of its reader or writer, by naming system; ``hidden_columns``: columns that no table has, by
    storage layer; ``file_metadata``: structs that no file has, and all members that they can have.
    """

    producer: str
    platform: str
    examples: list[Example]
    docs: str | None = None
    producers: list[str] = []
    schemes: list[str] = []
    integrations: list[str] = []
    names: list[NameForm] = []
    otherwise: Literal["first_dot", "whole"] = "first_dot"
    single_event: bool = False
    assertion_label: str | None = None
    run_facets: list[str] = []
    parents: Parents = "all"
    projections: bool = False
    repeats: bool = False
    frames: dict[str, frozenset[str]] = {}
    hidden_columns: dict[str, frozenset[str]] = {}
    file_metadata: dict[str, frozenset[str]] = {}


class ProducerFamily(ProducerMapping, frozen=True, kw_only=True):
    """A family of producers: its row, and the stem of its file."""

    id: str


def load_producer_mappings(overlay: Path | None = None) -> Iterator[tuple[str, ProducerMapping]]:
    """Return stem and row of each file; the user's own come first."""
    files = sorted(mapping_files("producers", overlay), key=lambda path: overlay is None or overlay not in path.parents)
    return ((path.stem, load_mapping(path, _parse_producer)) for path in files)


def _parse_producer(text: str, path: Path) -> ProducerMapping:
    return convert_document(load_yaml(text, str(path)), ProducerMapping, "producers", str(path))


def uri_matcher(text: str, location: str) -> Callable[[str], re.Match[str] | None]:
    """Return the matcher of a pattern of whole producers' URIs: literal text, ``{part}`` (no slash), ``{*rest}``, ``[optional]``."""
    parts = []
    for token in _TOKENS.findall(text[:_MAX_URI_LENGTH]):
        if token in _BRACKETS:
            parts.append(_BRACKETS[token])
        elif token in "{}":  # noqa: S105 - no secret
            raise MappingError(f"unmatched brace in `{text}`", location=location, remedy="write {part} or {*rest}")
        elif token.startswith("{*"):
            parts.append(".*")
        else:
            parts.append("[^/]+" if token.startswith("{") else re.escape(token))
    try:
        return re.compile("".join(parts), re.IGNORECASE | re.DOTALL).fullmatch
    except re.error as error:
        raise MappingError(f"`{text}`: {error}", location=location, remedy="close each [ with a ]") from error


class ProducerFamilies:
    """The producers of an identity version, by URI and by the scheme of job namespaces."""

    def __init__(self, mappings: list[tuple[str, ProducerMapping]]) -> None:
        self._matchers: list[tuple[Callable[[str], re.Match[str] | None], ProducerFamily]] = []
        self._schemes: dict[str, tuple[str, str]] = {}
        self._by_id: dict[str, ProducerFamily] = {}
        self._by_run_facet: dict[str, ProducerFamily] = {}
        self._stem_by_integration: dict[str, str] = {}
        for stem, row in mappings:
            producer = ProducerFamily(id=stem, **msgspec.structs.asdict(row))
            self._by_id[stem] = producer
            for integration in (stem, *row.integrations):
                self._stem_by_integration.setdefault(integration, stem)
            self._matchers += [
                (uri_matcher(text, f"mappings/producers/{stem}.yaml"), producer) for text in row.producers
            ]
            self._by_run_facet = dict.fromkeys(row.run_facets, producer) | self._by_run_facet
            for scheme in row.schemes:
                self._schemes.setdefault(scheme, (row.platform, stem))

    def by_uri(self, uri: str) -> ProducerFamily | None:
        """Return the family whose pattern matches the whole URI, also with one slash only behind its scheme."""
        uri, marker, stem = uri.strip().rpartition(_INTEGRATION)
        if marker and stem in self._by_id:
            return self._by_id[stem]
        uri = uri + marker + stem
        if len(uri) > _MAX_URI_LENGTH:
            return None
        uri = _ONE_SLASH.sub(r"\1://", uri, count=1) if _ONE_SLASH.match(uri) else uri
        return next((producer for matches, producer in self._matchers if matches(uri)), None)

    def by_id(self, stem: str) -> ProducerFamily | None:
        """Return the family of that file's stem."""
        return self._by_id.get(stem)

    def checker(self, run_facets: Iterable[str], producer: ProducerFamily | None) -> ProducerFamily | None:
        """Return whose the checks of an event are: the tool's that it carries a run facet of, else its sender's."""
        return next((self._by_run_facet[key] for key in run_facets if key in self._by_run_facet), producer)

    def id_of_integration(self, integration_name: str) -> str | None:
        """Return the file stem of the family with the name ``integration_name`` (AIRFLOW, Spark), None if there is none."""
        return self._stem_by_integration.get(integration_name.strip().lower().replace("-", "_").replace(" ", "_"))

    def uri_of_integration(self, uri: str | None, integration_name: str) -> str | None:
        """Return the URI for an unknown producer whose jobs are of ``integration_name``; ``uri`` if no family has this name."""
        stem = self.id_of_integration(integration_name)
        return uri if stem is None else f"{uri or ''}{_INTEGRATION}{stem}"

    def platform_of_scheme(self, namespace: str) -> tuple[str, str] | None:
        """Return platform and stem for the scheme of a job namespace such as ``trino://host:8080``."""
        scheme, separator, _ = namespace.partition("://")
        return self._schemes.get(scheme.lower()) if separator else None
