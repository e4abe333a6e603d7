"""The check of a PATCH: the server's template must know each path, and each value must have the type of its path."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from dh_bridge.datahub import schemas
from dh_bridge.datahub.avro_types import VALIDATION_ERRORS, conform
from dh_bridge.datahub.fine_grained import PatchOperations
from dh_bridge.datahub.patch_paths import TEMPLATES, PatchPathShape, build_patch_paths
from dh_bridge.msgspec_threads import prepare_type

# The templates of these start from an object without the fields that the schema requires.
REQUIRED_PATHS = {"dataFlowInfo": ("/name",), "dataJobInfo": ("/name", "/type")}

# The server rebuilds an element of editableSchemaFieldInfo without its key: a tag on a column that has none yet fails with
# "fieldPath is required" unless the patch adds the key too (datahub-project/datahub#18138).
KEYED_ELEMENTS = {"editableSchemaMetadata": ("editableSchemaFieldInfo", "fieldPath")}


class Operation(Struct, forbid_unknown_fields=True, gc=False, eq=False):
    """One JSON-patch operation; a removal has no value."""

    op: Literal["add", "remove"]
    path: str
    value: Any | UnsetType = UNSET


@prepare_type
class Operations(Struct, gc=False, eq=False):
    """The operations of a patch, wrapped: the conversion of a Struct is prepared once, that of a bare list each time."""

    items: Annotated[list[Operation], Meta(min_length=1)]


class PatchCheck:
    """The check of the patches of one aspect: ``patch(operations)`` and ``patch.together(several)`` raise ValueError."""

    def __init__(self, aspect_name: str, schema: schemas.Schema) -> None:
        self._paths = build_patch_paths(aspect_name, schema)
        self._required = REQUIRED_PATHS.get(aspect_name, ())
        self._keyed = KEYED_ELEMENTS.get(aspect_name)

    def __call__(self, operations: Any) -> None:
        """Check the operations together; when they fail, name the first one that fails alone."""
        self._check_thoroughly(operations)

    def check_safe(self, operations: Any) -> None:
        """Check one patch as :meth:`check_all` checks several."""
        self.check_all([operations])

    def check_all(self, patches: list[Any]) -> None:
        """Check several patches: the values of one type are converted at once, whosever they are.

        Refused is also a search text that may be too long for the index.
        """
        values: dict[type[Struct], list[Any]] = {}
        for operations in patches:
            if not isinstance(operations, list) or not self._are_valid_additions(operations, values):
                self._check_thoroughly(operations)
                self._check_lengths(operations)
        try:
            for kind, batch in values.items():
                conform({"items": batch}, kind)
        except VALIDATION_ERRORS:
            for operations in patches:
                self._check_thoroughly(operations)

    def _are_valid_additions(self, operations: list[Any], values: dict[type[Struct], list[Any]]) -> bool:
        """Return whether these are additions that are valid if ``values`` are; their own values are added to ``values``.

        If False, :meth:`_check_thoroughly` finds the fault.
        """
        paths = self._paths
        valid_count = operations.valid_count if type(operations) is PatchOperations else 0
        try:
            for operation in operations[: len(operations) - valid_count] if valid_count else operations:
                path, value = operation["path"], operation["value"]
                if operation["op"] != "add" or len(operation) != 3:
                    return False
                shape, keys = paths[path]
                if type(value) is not str or len(value) > shape.max_length:
                    if shape.is_plain:
                        return False
                    if shape.lookup is not None:
                        shape.lookup[value]
                    elif (batch := values.get(shape.batch_type)) is None:
                        values[shape.batch_type] = [value]
                    else:
                        batch.append(value)
                for name, text in keys:
                    if (value[name] if name else value) != text:
                        return False
            if self._required or self._keyed:
                self._check_required([operation["path"] for operation in operations])
        except (KeyError, TypeError, AttributeError, *VALIDATION_ERRORS):
            return False
        return bool(operations)

    def _check_thoroughly(self, operations: Any) -> None:
        try:
            items = msgspec.convert({"items": operations}, Operations).items
        except VALIDATION_ERRORS as error:
            raise ValueError(str(error).replace("$.items", "$")) from None
        try:
            self._check(items)
        except VALIDATION_ERRORS:
            for index, item in enumerate(items):
                self._check_one(index, item)
            raise
        if self._required or self._keyed:
            self._check_required([item.path for item in items if item.op == "add"])

    def _check(self, items: list[Operation]) -> None:
        paths = self._paths
        values: dict[PatchPathShape, list[Any]] = {}
        keyed_values = []
        for item in items:
            shape, keys = paths[item.path]
            value = item.value
            if item.op == "remove":
                if value is not UNSET:
                    raise ValueError("an operation with op remove must not have a value")
                continue
            if value is UNSET:
                raise ValueError("an operation with op add requires a value")
            if shape in values:
                values[shape].append(value)
            else:
                values[shape] = [value]
            if keys:
                keyed_values.append((keys, value))
        for shape, batch in values.items():
            conform({"items": batch}, shape.batch_type)
        for keys, value in keyed_values:
            for name, text in keys:
                if (value.get(name) if name else value) != text:
                    raise ValueError(f"expected {text!r}, as in the path, for the value's {name or 'text'}")

    def _check_lengths(self, operations: list[dict[str, Any]]) -> None:
        for operation in operations:
            shape, value = self._paths[operation["path"]][0], operation.get("value")
            if shape.is_plain and isinstance(value, str) and len(value) > shape.max_length:
                raise ValueError(f"the text of a search field has more than {shape.max_length:,} characters")

    def _check_one(self, index: int, item: Operation) -> None:
        try:
            self._check([item])
        except VALIDATION_ERRORS as error:
            message = str(error).replace("$.items[0]", f"$[{index}].value")
            raise ValueError(message if "- at `" in message else f"{message} - at `$[{index}]` {item.path}") from None

    def _check_required(self, added_paths: list[str]) -> None:
        missing_paths = [path for path in self._required if path not in added_paths] if added_paths else []
        if self._keyed:
            field, key = self._keyed
            known_paths = set(added_paths)
            elements = {path.split("/", 3)[2] for path in added_paths}
            missing_paths += [
                path for element in sorted(elements) if (path := f"/{field}/{element}/{key}") not in known_paths
            ]
        if missing_paths:
            raise ValueError(
                f"a patch that adds must also add {missing_paths[0]}: the server's patch template requires it"
            )


@cache
def patch_check(aspect_name: str, file: str) -> PatchCheck | None:
    """Return the check of an aspect's patches, None when servers have no template for it."""
    return PatchCheck(aspect_name, schemas.load_schema(file)) if aspect_name in TEMPLATES else None
