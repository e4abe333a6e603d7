"""An event without its secrets, before anything else sees it.

The whole event is masked in one pass: names and addresses of the envelope, keys and texts of facets. What is filtered, folded, digested,
stored, reported or written as a dead letter is the masked event. The names of datasets and jobs are part of it, so an entity keeps
its URN when a password changes.

Clean events cost little: facets come again and again, so a facet is looked at once, and then recognised by its hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.redaction import REDACTED, redacted, redacted_json, texts_redacted
from dh_bridge.redaction.rules import rules

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Dataset, Facets

_MAX_NAMES = 16_384
_MAX_NAME = 512
_MAX_FACETS = 131_072
_UUID = 36
#: A key that is a token is longer.
_SHORTEST_SECRET_KEY = 12

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_HIDDEN = msgspec.Raw(_encode(REDACTED))


class Masking:
    """Masks events and dead letters; one object for each configuration, which remembers clean facets and names.

    ``on``: whether the setting ``redaction`` lets secrets be masked.
    """

    def __init__(self, *, on: bool) -> None:
        self._on = on
        self._names: dict[str, str] = {}
        #: hashes of facets that hold no secret; Python's hash of bytes is keyed, so that nobody can make two alike
        self._clean: set[int] = set()

    def event(self, event: Event) -> Event:
        """Mask the secrets of ``event``, in its place; return it."""
        if event.clean or not self._on:
            return event
        if not self._is_clean(event):
            self._mask(event)
        event.clean = True
        return event

    def letter(self, letter: DeadLetter) -> DeadLetter:
        """Return a dead letter without the secrets of its reason and of its bytes."""
        if not self._on:
            return letter
        return DeadLetter(redacted(letter.place), redacted(letter.reason), masked_bytes(letter.raw))

    def item(self, item: Event | DeadLetter) -> Event | DeadLetter:
        """Return an event or a dead letter without secrets."""
        return self.letter(item) if isinstance(item, DeadLetter) else self.event(item)

    def _is_clean(self, event: Event) -> bool:
        names = [event.namespace, event.name]
        names += [text for text in (event.producer, event.schema_url) if text]
        bags = [event.run_facets, event.job_facets]
        for dataset in [*event.inputs, *event.outputs] if event.dataset is None else [event.dataset]:
            names += dataset.namespace, dataset.name
            bags += dataset.facets, dataset.input_facets, dataset.output_facets
        known = self._names
        for text in names:
            if known.get(text) != "" and self._name(text) is not text:
                return False
        if len(event.run_id) != _UUID and redacted(event.run_id) != event.run_id:
            return False
        return all([not facets or self._is_clean_bag(facets) for facets in bags])  # noqa: C419 - faster

    def _mask(self, event: Event) -> None:
        event.raw = masked_bytes(event.raw)
        event.producer = event.producer and self._name(event.producer)
        event.schema_url = event.schema_url and self._name(event.schema_url)
        event.run_id = redacted(event.run_id)
        event.namespace, event.name = self._name(event.namespace), self._name(event.name)
        event.run_facets, event.job_facets = self._bag(event.run_facets), self._bag(event.job_facets)
        event.inputs = [self._dataset(dataset) for dataset in event.inputs]
        event.outputs = [self._dataset(dataset) for dataset in event.outputs]
        event.dataset = None if event.dataset is None else self._dataset(event.dataset)

    def _dataset(self, dataset: Dataset) -> Dataset:
        name, bag = self._name, self._bag
        return type(dataset)(
            name(dataset.namespace), name(dataset.name), bag(dataset.facets), bag(dataset.input_facets),
            bag(dataset.output_facets),
        )  # fmt: skip

    def _bag(self, facets: Facets) -> Facets:
        return {self._name(key): _masked_raw(key, raw) for key, raw in facets.items()}

    def _is_clean_bag(self, facets: Facets) -> bool:
        for key, raw in facets.items():
            if hash((key, data := bytes(raw))) not in self._clean and not self._is_clean_facet(key, data):
                return False
        return True

    def _is_clean_facet(self, key: str, data: bytes) -> bool:
        """Return whether a facet that was not seen lately holds no secret."""
        if (len(key) > _SHORTEST_SECRET_KEY and redacted(key) != key) or masked_facet(key, data) is not None:
            return False
        if len(self._clean) >= _MAX_FACETS:
            self._clean.clear()
        self._clean.add(hash((key, data)))
        return True

    def _name(self, text: str) -> str:
        """Return a name without secrets, the same object where there is none."""
        found = self._names.get(text)
        if found is None:
            found = redacted(text)
            if len(text) <= _MAX_NAME:
                if len(self._names) >= _MAX_NAMES:
                    self._names.clear()
                self._names[text] = "" if found == text else found
            return text if found == text else found
        return found or text


def masked_facet(key: str, data: bytes) -> bytes | None:
    """Return the JSON of a facet without its secrets, None where there is none."""
    try:
        document = _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return bytes(_HIDDEN) if redacted(text := data.decode("utf-8", "replace")) != text else None
    try:
        masked = texts_redacted(document) if key in rules().columns else redacted_json(document, key)
    except RecursionError:  # nobody reads a facet that is nested so deep
        return bytes(_HIDDEN)
    return None if masked == document else _encode(masked)


def _masked_raw(key: str, raw: msgspec.Raw) -> msgspec.Raw:
    masked = masked_facet(key, bytes(raw))
    return raw if masked is None else msgspec.Raw(masked)


def masked_bytes(data: bytes) -> bytes:
    """Return the bytes of an event, or of anything that was sent as one, without secrets."""
    try:
        document = _decode(data)
        masked = _masked_document(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "surrogateescape")
        masked_text = redacted(text)
        return data if masked_text == text else masked_text.encode("utf-8", "surrogateescape")
    return data if masked == document else _encode(masked)


def _masked_document(document: Any) -> Any:
    """Return an event, or a list of events, masked facet by facet, as the parts of an event are."""
    if isinstance(document, list):
        return [_masked_document(member) for member in document]
    if not isinstance(document, dict):
        return redacted(document) if isinstance(document, str) else document
    return {_name(name): _part(name, member) for name, member in document.items()}


def _part(name: str, value: Any) -> Any:
    if name in ("run", "job", "dataset") and isinstance(value, dict):
        return {_name(leaf): _bag_or_text(leaf, member) for leaf, member in value.items()}
    if name in ("inputs", "outputs") and isinstance(value, list):
        return [_part("dataset", member) if isinstance(member, dict) else redacted_json(member) for member in value]
    return redacted_json(value, name)


def _bag_or_text(name: str, value: Any) -> Any:
    if name in ("facets", "inputFacets", "outputFacets") and isinstance(value, dict):
        return {
            _name(key): texts_redacted(facet) if key in rules().columns else redacted_json(facet, key)
            for key, facet in value.items()
        }
    return redacted_json(value, name)


def _name(text: Any) -> Any:
    return redacted(text) if isinstance(text, str) else text
