"""The layout of an aspect while DataHub's server patches it: arrays become maps with the key of each element.

A shape turns a JSON value into its tree (``tree``), the tree back into JSON (``value``) and knows the shape one path
segment further down (``child``). Source: ArrayMergingTemplate and its sub-classes in DataHub's entity-registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_PATH_SEPARATOR = "\u241f"
"""Parts of a key field that lies deeper in the element (``attribution␟source``) are joined by this sign."""


class PatchError(ValueError):
    """A patch that DataHub would reject; the text has the reason."""


class AspectShape(Protocol):
    """One level of an aspect while it is patched."""

    def tree(self, value: Any) -> Any:
        """Return ``value`` laid out for patching, sharing no list or dict with it."""

    def value(self, tree: Any) -> Any:
        """Return the JSON value of a tree."""

    def child(self, segment: str) -> AspectShape:
        """Return the shape of the values below a path segment."""


def _copy_value(value: Any) -> Any:
    """Return a copy of the lists and dicts of ``value``, because a later patch changes inserted values in place."""
    if isinstance(value, dict):
        return {key: _copy_value(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, list):
        return [_copy_value(item) for item in value]
    return value


class PlainShape:
    """JSON as it is."""

    def tree(self, value: Any) -> Any:
        """Return a copy of ``value``."""
        return _copy_value(value)

    def value(self, tree: Any) -> Any:
        """Return the tree itself."""
        return tree

    def child(self, segment: str) -> AspectShape:  # noqa: ARG002 - the protocol's signature
        """Return itself: everything below is as it is."""
        return self


PLAIN_SHAPE = PlainShape()


class ObjectShape:
    """An object, some of whose fields have a shape of their own."""

    def __init__(self, **fields: AspectShape) -> None:
        self.fields: Mapping[str, AspectShape] = fields

    def tree(self, value: Any) -> Any:
        """Return the object with the trees of its fields, without nulls; a PatchError if it is no object."""
        if not isinstance(value, dict):
            raise PatchError(f"expected an object, got {type(value).__name__}")
        fields = self.fields
        return {key: fields.get(key, PLAIN_SHAPE).tree(item) for key, item in value.items() if item is not None}

    def value(self, tree: Any) -> Any:
        """Return the object with the values of its fields."""
        fields = self.fields
        return {key: fields[key].value(item) if key in fields else item for key, item in tree.items()}

    def child(self, segment: str) -> AspectShape:
        """Return the shape of a field."""
        return self.fields.get(segment, PLAIN_SHAPE)


class StringArrayShape:
    """An array of strings, each its own key."""

    def tree(self, value: Any) -> Any:
        """Return ``{word: word}``."""
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise PatchError("expected an array of strings")
        return {text: text for text in value}

    def value(self, tree: Any) -> Any:
        """Return the words in the order of their insertion."""
        return [text or key for key, text in tree.items()]

    def child(self, segment: str) -> AspectShape:  # noqa: ARG002 - the protocol's signature
        """Return the shape of one word."""
        return _STRING_SHAPE


class _StringShape(PlainShape):
    """A string; ``{}`` stands for its key, as DataHub's own builders write ``/inputDatasetFields/<urn>``."""

    def tree(self, value: Any) -> Any:
        if value != {} and not isinstance(value, str):
            raise PatchError(f"expected a string, got {type(value).__name__}")
        return value


_STRING_SHAPE = _StringShape()


class ObjectArrayShape:
    """An array of objects, keyed by one or more of their fields, a level for each."""

    def __init__(self, *keys: str, item: AspectShape | None = None) -> None:
        self.keys = keys
        self.item = item or ObjectShape()
        self._is_last_key = len(keys) == 1
        self._child_shape: AspectShape = self.item if self._is_last_key else ObjectArrayShape(*keys[1:], item=self.item)
        self._key = keys[0]
        self._key_path = keys[0].split(KEY_PATH_SEPARATOR)

    def tree(self, value: Any) -> Any:
        """Return the elements by key; a single object above its last key takes the missing keys from itself."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for element in value if isinstance(value, list) else [value]:
            if not isinstance(element, dict):
                raise PatchError(f"expected an object as an element of {self._key}, got {type(element).__name__}")
            groups.setdefault(self._key_of(element), []).append(element)
        if not self._is_last_key:
            return {key: self._child_shape.tree(elements) for key, elements in groups.items()}
        item = self.item.tree
        return {key: item(_merge_elements(elements)) for key, elements in groups.items()}

    def value(self, tree: Any) -> Any:
        """Return the array; a key that was only in the path is put into its element, as the server does since 1.5."""
        elements = []
        for key, subtree in tree.items():
            for element in [self.item.value(subtree)] if self._is_last_key else self._child_shape.value(subtree):
                if key and len(self._key_path) == 1 and self._key not in element:
                    elements.append({self._key: key, **element})
                else:
                    elements.append(element)
        return elements

    def child(self, segment: str) -> AspectShape:  # noqa: ARG002 - every element has the same shape
        """Return the shape below one key."""
        return self._child_shape

    def _key_of(self, element: dict[str, Any]) -> str:
        """Return the element's key: DataHub takes an absent one for the empty string."""
        value: Any = element
        for part in self._key_path:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""


def _merge_elements(elements: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge elements with one key: the fields of a later one win, as ``setAll`` does it."""
    if len(elements) == 1:
        return elements[0]
    return {field: value for element in elements for field, value in element.items()}
