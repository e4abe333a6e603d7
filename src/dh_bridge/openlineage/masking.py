"""Masks the secrets of an event before any other module reads it.

The whole event is masked in one pass: names and addresses of the envelope, keys and texts of facets. Only the masked event is
filtered, merged, hashed, stored, reported or written as a dead letter. Names of datasets and jobs are masked too, so the URN of
an entity does not change with a password.

Events without secrets are fast: facets are repeated, so a facet is searched once, and then recognised by its hash.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.redaction import REDACTED, redact, redact_json, redact_texts
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.texts import is_plain

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Dataset, Facets

_MAX_CACHED_NAMES = 16_384
_MAX_NAME_LENGTH = 512
_MAX_CACHED_FACETS = 131_072
_MAX_CACHED_TEXTS = 65_536
_UUID_LENGTH = 36
#: A key that is a token is longer.
_MIN_SECRET_KEY_LENGTH = 12

#: The end is optional, so that no text is searched twice for it; JSON always has it.
_STRING = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"?')
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_REDACTED_FACET = msgspec.Raw(_encode(REDACTED))


class EventMasker:
    """Masks events and dead letters; one object for each configuration, which remembers clean facets and names.

    ``is_enabled``: whether the setting ``redaction`` lets secrets be masked.
    """

    def __init__(self, *, is_enabled: bool) -> None:
        self._is_enabled = is_enabled
        self._cached_names: dict[str, str] = {}
        #: hashes of facets without secrets; Python's hash of bytes is keyed, so that collisions cannot be constructed
        self._clean_hashes: set[int] = set()
        #: texts of column facets without secrets: types, tables and columns are repeated
        self._clean_texts: set[bytes] = set()

    def mask_event(self, event: Event) -> Event:
        """Mask the secrets of ``event`` by changing it; return it."""
        if event.is_clean or not self._is_enabled:
            return event
        if not self._is_clean(event):
            self._mask_fields(event)
        event.is_clean = True
        return event

    def mask_dead_letter(self, letter: DeadLetter) -> DeadLetter:
        """Return a dead letter without the secrets of its reason and of its bytes."""
        if not self._is_enabled:
            return letter
        return DeadLetter(redact(letter.location), redact(letter.reason), mask_bytes(letter.raw))

    def mask_item(self, item: Event | DeadLetter) -> Event | DeadLetter:
        """Return an event or a dead letter without secrets."""
        return self.mask_dead_letter(item) if isinstance(item, DeadLetter) else self.mask_event(item)

    def _is_clean(self, event: Event) -> bool:
        names = [event.namespace, event.name]
        names += [text for text in (event.producer, event.schema_url) if text]
        facet_groups = [event.run_facets, event.job_facets]
        for dataset in [*event.inputs, *event.outputs] if event.dataset is None else [event.dataset]:
            names += dataset.namespace, dataset.name
            facet_groups += dataset.facets, dataset.input_facets, dataset.output_facets
        cached_names = self._cached_names
        new_names = [text for text in names if cached_names.get(text) != ""]
        if new_names and not self._are_clean_names(new_names):
            return False
        if len(event.run_id) != _UUID_LENGTH and redact(event.run_id) != event.run_id:
            return False
        return all([not facets or self._is_clean_group(facets) for facets in facet_groups])  # noqa: C419 - faster

    def _mask_fields(self, event: Event) -> None:
        event.raw = mask_bytes(event.raw)
        event.producer = event.producer and self._mask_name(event.producer)
        event.schema_url = event.schema_url and self._mask_name(event.schema_url)
        event.run_id = redact(event.run_id)
        event.namespace, event.name = self._mask_name(event.namespace), self._mask_name(event.name)
        event.run_facets, event.job_facets = self._mask_facets(event.run_facets), self._mask_facets(event.job_facets)
        event.inputs = [self._mask_dataset(dataset) for dataset in event.inputs]
        event.outputs = [self._mask_dataset(dataset) for dataset in event.outputs]
        event.dataset = None if event.dataset is None else self._mask_dataset(event.dataset)

    def _mask_dataset(self, dataset: Dataset) -> Dataset:
        mask_name, mask_facets = self._mask_name, self._mask_facets
        return type(dataset)(
            mask_name(dataset.namespace), mask_name(dataset.name), mask_facets(dataset.facets), mask_facets(dataset.input_facets),
            mask_facets(dataset.output_facets),
        )  # fmt: skip

    def _mask_facets(self, facets: Facets) -> Facets:
        return {self._mask_name(key): _mask_raw_facet(key, raw) for key, raw in facets.items()}

    def _is_clean_group(self, facets: Facets) -> bool:
        for key, raw in facets.items():
            if hash((key, data := bytes(raw))) not in self._clean_hashes and not self._is_clean_facet(key, data):
                return False
        return True

    def _is_clean_facet(self, key: str, data: bytes) -> bool:
        """Return whether a facet that was not seen lately holds no secret."""
        if len(key) > _MIN_SECRET_KEY_LENGTH and redact(key) != key:
            return False
        if not (key in rules().columns and self._has_clean_texts(data)) and mask_facet(key, data) is not None:
            return False
        if len(self._clean_hashes) >= _MAX_CACHED_FACETS:
            self._clean_hashes.clear()
        self._clean_hashes.add(hash((key, data)))
        return True

    def _has_clean_texts(self, data: bytes) -> bool:
        """Return whether no name and no text of JSON holds a secret; False for JSON that cannot be decoded."""
        # Without an escape, the texts are what is between quotes; to split costs less than to search.
        texts = set(_STRING.findall(data) if b"\\" in data else data.split(b'"')[1::2])
        new_texts = texts - self._clean_texts
        if not _are_clean(new_texts):
            return False
        if len(self._clean_texts) >= _MAX_CACHED_TEXTS:
            self._clean_texts.clear()
        self._clean_texts.update(text for text in new_texts if len(text) <= _MAX_NAME_LENGTH)
        return True

    def _are_clean_names(self, names: list[str]) -> bool:
        if not is_plain("\n".join(names)):
            return all([self._mask_name(text) is text for text in names])  # noqa: C419 - faster
        for text in names:
            self._cache_name(text, "")
        return True

    def _mask_name(self, text: str) -> str:
        """Return a name without secrets; the same object if it has none."""
        masked_name = self._cached_names.get(text)
        if masked_name is None:
            masked_name = redact(text)
            self._cache_name(text, "" if masked_name == text else masked_name)
            return text if masked_name == text else masked_name
        return masked_name or text

    def _cache_name(self, text: str, masked_name: str) -> None:
        if len(text) > _MAX_NAME_LENGTH:
            return
        if len(self._cached_names) >= _MAX_CACHED_NAMES:
            self._cached_names.clear()
        self._cached_names[text] = masked_name


def _are_clean(texts: set[bytes]) -> bool:
    """Return whether no string of JSON, given without its quotes, holds a secret; False for one that cannot be decoded."""
    lines = b"\n".join(texts)
    try:
        if b"\\" not in lines and is_plain(lines.decode("utf-8")):
            return True
        return all(redact(text) == text for text in (_decode(b'"%b"' % text) for text in texts))
    except (UnicodeDecodeError, msgspec.DecodeError):
        return False


def mask_facet(key: str, data: bytes) -> bytes | None:
    """Return the JSON of a facet without its secrets, None if it has none."""
    try:
        document = _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return bytes(_REDACTED_FACET) if redact(text := data.decode("utf-8", "replace")) != text else None
    try:
        masked_document = redact_texts(document) if key in rules().columns else redact_json(document, key)
    except RecursionError:  # nobody reads a facet that is nested so deep
        return bytes(_REDACTED_FACET)
    return None if masked_document == document else _encode(masked_document)


def _mask_raw_facet(key: str, raw: msgspec.Raw) -> msgspec.Raw:
    masked_facet_bytes = mask_facet(key, bytes(raw))
    return raw if masked_facet_bytes is None else msgspec.Raw(masked_facet_bytes)


def mask_bytes(data: bytes) -> bytes:
    """Return the bytes of an event, or of anything that was sent as one, without secrets."""
    try:
        document = _decode(data)
        masked_document = _mask_document(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "surrogateescape")
        masked_text = redact(text)
        return data if masked_text == text else masked_text.encode("utf-8", "surrogateescape")
    return data if masked_document == document and not _has_repeated_names(data, document) else _encode(masked_document)


def _has_repeated_names(data: bytes, document: Any) -> bool:
    """Return whether an object of the JSON ``data``, which decodes to ``document``, has two members of one name.

    The document has the last one only, so nobody has looked for secrets in the others.
    """
    if _encode(document) == data:
        return False
    try:
        json.loads(data, object_pairs_hook=_reject_repeated_names)
    except ValueError:
        return True
    return False


def _reject_repeated_names(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) < len(members):
        raise ValueError("a name is repeated")


def _mask_document(document: Any) -> Any:
    """Return an event, or a list of events, masked facet by facet, as the parts of an event are."""
    if isinstance(document, list):
        return [_mask_document(member) for member in document]
    if not isinstance(document, dict):
        return redact(document) if isinstance(document, str) else document
    return {_mask_text(name): _mask_part(name, member) for name, member in document.items()}


def _mask_part(name: str, value: Any) -> Any:
    if name in ("run", "job", "dataset") and isinstance(value, dict):
        return {_mask_text(field_name): _mask_member(field_name, member) for field_name, member in value.items()}
    if name in ("inputs", "outputs") and isinstance(value, list):
        return [_mask_part("dataset", member) if isinstance(member, dict) else redact_json(member) for member in value]
    return redact_json(value, name)


def _mask_member(name: str, value: Any) -> Any:
    if name in ("facets", "inputFacets", "outputFacets") and isinstance(value, dict):
        return {
            _mask_text(key): redact_texts(facet) if key in rules().columns else redact_json(facet, key)
            for key, facet in value.items()
        }
    return redact_json(value, name)


def _mask_text(text: Any) -> Any:
    return redact(text) if isinstance(text, str) else text
