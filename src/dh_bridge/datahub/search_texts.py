"""Texts of search fields: DataHub indexes each of them as one term, and the length of a term is limited.

If one term is too long, the search index rejects the whole document: the aspect is stored, but the search does not find the
entity in its new state. So a longer text is cut and ends with ``… [cut, 40000 bytes]``: the size of the whole text.

The bundled schemas state which fields are such texts (``Searchable`` with a type of `TERM_TYPES`). Values of a map
(``customProperties``) are excluded: DataHub itself does not index values of 4,096 characters and more.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.datahub import pointers, schemas
from dh_bridge.datahub.proposal import CachedProposal, Payload, Proposal
from dh_bridge.datahub.schema_trees import SchemaTree, compile_tree

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TERM_BYTES = 32_766
"""The longest term in UTF-8: ``IndexWriter.MAX_TERM_LENGTH`` of Lucene, which OpenSearch and Elasticsearch are built on."""

SAFE_LENGTH = MAX_TERM_BYTES // 4
"""A text of so many characters fits, whatever its characters are: the cheap test comes first."""

TERM_TYPES = frozenset({"KEYWORD", "TEXT", "TEXT_PARTIAL", "WORD_GRAM"})
"""Types of search fields that DataHub maps to ``keyword`` without ``ignore_above`` (``MappingsBuilder``, ``V2MappingsBuilder``)."""


class LongText(NamedTuple):
    """A text that is too long for its search field: the field (``fields[].description``) and the size in bytes."""

    field: str
    size: int

    def __str__(self) -> str:
        return (
            f"{self.field}: the text of a search field has {self.size:,} bytes. DataHub's search index accepts at most {MAX_TERM_BYTES:,} and "
            "drops the update of the entity: shorten the text"
        )


def is_too_long(text: Any) -> bool:
    """Return whether a value is a text that is too long for a search field."""
    return isinstance(text, str) and len(text) > SAFE_LENGTH and _utf8_size(text) > MAX_TERM_BYTES


def cut_text(text: str) -> str:
    """Return the beginning of a long text, with a mark at its end: together at most `MAX_TERM_BYTES` in UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    suffix = f"… [cut, {len(data)} bytes]"
    return data[: MAX_TERM_BYTES - len(suffix.encode())].decode("utf-8", "ignore") + suffix


def long_texts(proposal: Proposal, version: str) -> list[LongText]:
    """Return the texts of a proposal that are too long for their search fields, by the schemas of a DataHub version."""
    return _cut_values(proposal, version)[1]


def cut_long_texts(proposal: Proposal, version: str) -> Proposal:
    """Return the proposal with its long texts cut (:func:`cut_fields` names them); the same object if it has none."""
    value, texts = _cut_values(proposal, version)
    if not texts:
        return proposal
    cut_proposal = CachedProposal(
        proposal.entity_type, proposal.entity_urn, proposal.change_type, proposal.aspect_name, Payload(value)
    )
    cut_proposal.__dict__["cut"] = tuple([text.field for text in texts])
    return cut_proposal


def cut_fields(proposal: Proposal) -> tuple[str, ...]:
    """Return the fields whose texts :func:`cut_long_texts` cut, one entry for each text."""
    fields: tuple[str, ...] = proposal.__dict__.get("cut", ()) if type(proposal) is CachedProposal else ()
    return fields


def _utf8_size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _cut_values(proposal: Proposal, version: str) -> tuple[Any, list[LongText]]:
    """Return the value of a proposal with its long texts cut, and these."""
    texts: list[LongText] = []
    file = schemas.load_index(version).aspects.get(proposal.aspect_name)
    tree = None if file is None else _text_tree(file)
    value = proposal.value
    if tree is None:
        return value, texts

    def fit_text(text: Any, field: str) -> Any:
        if not is_too_long(text):
            return text
        texts.append(LongText(field, _utf8_size(text)))
        return cut_text(text)

    if proposal.change_type != "PATCH":
        value = tree.map_values(value, fit_text)
    elif isinstance(value, list):
        value = [_cut_operation(operation, tree, fit_text) for operation in value]
    return value, texts


def _cut_operation(operation: Any, tree: SchemaTree, fit_text: Callable[[Any, str], Any]) -> Any:
    """Return an operation of a PATCH with its long texts cut."""
    path = operation.get("path") if isinstance(operation, dict) else None
    if not isinstance(path, str) or "value" not in operation:
        return operation
    subtree, field = tree.find(pointers.steps(path))
    return (
        operation
        if subtree is None
        else {**operation, "value": subtree.map_values(operation["value"], fit_text, field)}
    )


@cache
def _text_tree(file: str) -> SchemaTree | None:
    return compile_tree(schemas.load_schema(file), lambda field, kind: kind == "string" and is_text(field))


def is_text(field: schemas.Schema) -> bool:
    """Return whether a record's field is a text, or a list of texts, that is a term of a search field."""
    return field.get("Searchable", {}).get("fieldType") in TERM_TYPES
