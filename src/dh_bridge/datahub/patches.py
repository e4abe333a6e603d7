"""The check of a PATCH: every operation at a place that the server's template knows, with a value that belongs there."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from dh_bridge.datahub import schemas
from dh_bridge.datahub.avro_types import REFUSALS, conform
from dh_bridge.datahub.fine_grained import Built
from dh_bridge.datahub.patch_paths import TEMPLATES, Slot, places_of
from dh_bridge.msgspec_threads import prepared

# The templates of these start from an object without the fields that the schema requires.
REQUIRED = {"dataFlowInfo": ("/name",), "dataJobInfo": ("/name", "/type")}

# The server rebuilds an element of editableSchemaFieldInfo without its key: a tag on a column that has none yet fails with
# "fieldPath is required" unless the patch adds the key too (datahub-project/datahub#18138).
KEYED = {"editableSchemaMetadata": ("editableSchemaFieldInfo", "fieldPath")}


class Operation(Struct, forbid_unknown_fields=True, gc=False, eq=False):
    """One JSON-patch operation; a removal has no value."""

    op: Literal["add", "remove"]
    path: str
    value: Any | UnsetType = UNSET


@prepared
class Operations(Struct, gc=False, eq=False):
    """The operations of a patch, wrapped: the conversion of a Struct is prepared once, that of a bare list each time."""

    items: Annotated[list[Operation], Meta(min_length=1)]


class Patch:
    """The check of the patches of one aspect: ``patch(operations)`` and ``patch.together(several)`` raise ValueError."""

    def __init__(self, aspect_name: str, schema: schemas.Schema) -> None:
        self._places = places_of(aspect_name, schema)
        self._required = REQUIRED.get(aspect_name, ())
        self._keyed = KEYED.get(aspect_name)

    def __call__(self, operations: Any) -> None:
        """Check the operations together; when they fail, name the first one that fails alone."""
        self._thoroughly(operations)

    def together(self, patches: list[Any]) -> None:
        """Check several patches: the values of one type are converted at once, whosever they are.

        Refused is also a search text that may be too long for the index.
        """
        values: dict[type[Struct], list[Any]] = {}
        for operations in patches:
            if not isinstance(operations, list) or not self._additions(operations, values):
                self._thoroughly(operations)
                self._check_lengths(operations)
        try:
            for kind, batch in values.items():
                conform({"items": batch}, kind)
        except REFUSALS:
            for operations in patches:
                self._thoroughly(operations)

    def _additions(self, operations: list[Any], values: dict[type[Struct], list[Any]]) -> bool:
        """Say whether these are additions that are sound if ``values``, to which theirs come, are.

        False where :meth:`_thoroughly` has to look (and to say what is wrong).
        """
        places = self._places
        sound = operations.sound if type(operations) is Built else 0
        try:
            for operation in operations[: len(operations) - sound] if sound else operations:
                path, value = operation["path"], operation["value"]
                if operation["op"] != "add" or len(operation) != 3:
                    return False
                slot, keys = places[path]
                if type(value) is not str or len(value) > slot.longest:
                    if slot.plain:
                        return False
                    if slot.seen is not None:
                        slot.seen[value]
                    elif (batch := values.get(slot.batch)) is None:
                        values[slot.batch] = [value]
                    else:
                        batch.append(value)
                for name, text in keys:
                    if (value[name] if name else value) != text:
                        return False
            if self._required or self._keyed:
                self._check_required([operation["path"] for operation in operations])
        except (KeyError, TypeError, AttributeError, *REFUSALS):
            return False
        return bool(operations)

    def _thoroughly(self, operations: Any) -> None:
        try:
            items = msgspec.convert({"items": operations}, Operations).items
        except REFUSALS as error:
            raise ValueError(str(error).replace("$.items", "$")) from None
        try:
            self._check(items)
        except REFUSALS:
            for at, item in enumerate(items):
                self._check_one(at, item)
            raise
        if self._required or self._keyed:
            self._check_required([item.path for item in items if item.op == "add"])

    def _check(self, items: list[Operation]) -> None:
        places = self._places
        values: dict[Slot, list[Any]] = {}
        keyed = []
        for item in items:
            slot, keys = places[item.path]
            value = item.value
            if item.op == "remove":
                if value is not UNSET:
                    raise ValueError("a removal has no value")
                continue
            if value is UNSET:
                raise ValueError("an addition needs a value")
            if slot in values:
                values[slot].append(value)
            else:
                values[slot] = [value]
            if keys:
                keyed.append((keys, value))
        for slot, batch in values.items():
            conform({"items": batch}, slot.batch)
        for keys, value in keyed:
            for name, text in keys:
                if (value.get(name) if name else value) != text:
                    raise ValueError(f"the value's {name or 'text'} is not the {text!r} of the path")

    def _check_lengths(self, operations: list[dict[str, Any]]) -> None:
        for operation in operations:
            slot, value = self._places[operation["path"]][0], operation.get("value")
            if slot.plain and isinstance(value, str) and len(value) > slot.longest:
                raise ValueError(f"a search text of more than {slot.longest:,} characters")

    def _check_one(self, at: int, item: Operation) -> None:
        try:
            self._check([item])
        except REFUSALS as error:
            what = str(error).replace("$.items[0]", f"$[{at}].value")
            raise ValueError(what if "- at `" in what else f"{what} - at `$[{at}]` {item.path}") from None

    def _check_required(self, added: list[str]) -> None:
        missing = [path for path in self._required if path not in added] if added else []
        if self._keyed:
            field, key = self._keyed
            known = set(added)
            elements = {path.split("/", 3)[2] for path in added}
            missing += [path for element in sorted(elements) if (path := f"/{field}/{element}/{key}") not in known]
        if missing:
            raise ValueError(f"the patch adds, so it must also add {missing[0]}: the server's template needs it")


@cache
def patch(aspect_name: str, file: str) -> Patch | None:
    """Return the check of an aspect's patches, None when servers have no template for it."""
    return Patch(aspect_name, schemas.load(file)) if aspect_name in TEMPLATES else None
