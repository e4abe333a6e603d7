"""The check of a proposal against the schemas of a DataHub version.

Checks are compiled once per (profile, aspect), at the first use. The check rejects: an aspect that does not
belong to the entity, unknown fields, missing required fields, wrong types and enum symbols, integers out of range, NaN and
infinity, malformed or wrongly typed URNs, unions with no tag or several tags, PATCH paths that the server's template does not
have, and PATCH for timeseries.

fastavro (``validate``, then the writer with ``strict_allow_default``) and Apache avro give the same results, except:

=========================== ====== ======== ====== =================================================================
case                        here   fastavro Apache reason
=========================== ====== ======== ====== =================================================================
null for optional           refuse accept   accept Pegasus rejects an explicit null; the field must be absent
malformed URN               refuse accept   accept to Avro a URN is any string
URN of another type         refuse accept   accept for example a dataset in a field for tags
NaN                         refuse accept   accept JSON cannot represent it
infinity                    refuse accept   accept as NaN
too large for 32 bits       refuse accept   refuse fastavro writes infinity
boolean for an int          refuse refuse   accept a Python bool is an int
boolean for a float         refuse refuse   accept as above
lone surrogate              accept refuse   refuse the JSON encoder rejects it; a check here would be too slow
=========================== ====== ======== ====== =================================================================

acryl-datahub's classes return every accepted aspect unchanged, except ``dataJobInfo.type``: the tag of an enum becomes ``string``.
Other tools do not check: (entity, aspect) pairs, the entity's URN, PATCH paths and their keys.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec

from dh_bridge.cache import GenerationalCache
from dh_bridge.datahub import avro_types, schemas, urns
from dh_bridge.datahub.patches import patch_check
from dh_bridge.datahub.proposal import CachedProposal, Proposal
from dh_bridge.datahub.schema_fastpath import AlikeFields, AlikeSchema, SchemaEnvelope
from dh_bridge.errors import INTERNAL_ERROR, AspectError
from dh_bridge.msgspec_threads import prepare_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dh_bridge.datahub.profiles import Profile

    #: a check of a value, or of a list of values; it raises one of ``avro_types.REFUSALS``
    _Values = Callable[[Any], Any]

# (entity type, aspect name, change type)
_AspectKey = tuple[str, str, str]
# A type that is filled in at run time.
_list: Any = list

_MAX_CACHED_URNS = 32_768
# The one aspect that is large and the same hour after hour: a list of fields that was found sound is not walked again
# while it is the same object (it is never changed: the translation remembers it by the facet's bytes).
_LARGE_ASPECT = "schemaMetadata"
_MAX_CACHED_KINDS = 1024
_MAX_SINGLE_CHECKS = 32  # more proposals are checked by kind
_FIELD_BYTES = 600  # memory of the objects of a field, without its description
_REMEDY = f"{INTERNAL_ERROR}; this aspect is not sent"
_find_paths = re.compile(r" - at `(.*?)`").findall
_unhashable = re.compile(r"unhashable type: '(\w+)'").sub


class Validator:
    """A check of proposals against the Avro schemas of one DataHub version. Its caches are bounded, so it can be long-lived.

    Args:
        profile: the DataHub version (:func:`dh_bridge.datahub.profiles.profile`).

    Example:
        >>> from dh_bridge.datahub.profiles import profile
        >>> from dh_bridge.datahub.proposal import upsert
        >>> validator = Validator(profile("1.4"))
        >>> validator.refusal_text(upsert("tag", "urn:li:tag:daily", "tagProperties", {"name": "daily"}))
        >>> validator.refusal(upsert("tag", "urn:li:tag:daily", "tagProperties", {"name": 7})).location
        'tag/tagProperties $.name'
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._checks: dict[_AspectKey, _Check] = {}
        self._entities: dict[str, _EntityUrns] = {}

    @property
    def version(self) -> str:
        """The name of the profile."""
        return self._profile.name

    def refusal(self, proposal: Proposal) -> AspectError | None:
        """Return the error of a proposal that DataHub would reject.

        Args:
            proposal: the proposal.

        Returns:
            The error, whose location is for example ``dataset/schemaMetadata $.fields[3].type``; None if the proposal is valid.
        """
        is_cached = type(proposal) is CachedProposal
        if is_cached and proposal.__dict__.get("checked_by") is self:
            return None
        aspect_key = proposal.entity_type, proposal.aspect_name, proposal.change_type
        try:
            check = self._checks.get(aspect_key) or self._compile(*aspect_key)
            check.entity_urns.check([proposal.entity_urn])
            check.check_one(proposal.aspect.json)
        except avro_types.VALIDATION_ERRORS as error:
            return _aspect_error(f"{aspect_key[0]}/{aspect_key[1]}", str(error))
        if is_cached:
            proposal.__dict__["checked_by"] = self
        return None

    def accepts_all(self, proposals: Iterable[Proposal]) -> bool:
        """Return whether all proposals are valid. Proposals of one kind are checked together, in half the time.

        Args:
            proposals: some hundred proposals.

        Returns:
            False if a proposal is invalid, or if a text may be too long for DataHub's search index (`search_texts.py`).
        """
        proposals = [
            proposal
            for proposal in proposals
            if type(proposal) is not CachedProposal or proposal.__dict__.get("checked_by") is not self
        ]
        try:
            if len(proposals) <= _MAX_SINGLE_CHECKS:
                self._check_singly(proposals)
            else:
                self._check_grouped(proposals)
        except avro_types.VALIDATION_ERRORS:
            return False
        for proposal in proposals:
            if type(proposal) is CachedProposal:
                proposal.__dict__["checked_by"] = self
        return True

    def _check_singly(self, proposals: list[Proposal]) -> None:
        """Check the few proposals of one event, without lists of each kind; raise an error if one is invalid."""
        checks = self._checks
        checked_urn, checked_urns = "", None
        for proposal in proposals:
            aspect_key: _AspectKey = (proposal.entity_type, proposal.aspect_name, proposal.change_type)
            check = checks.get(aspect_key) or self._compile(*aspect_key)
            urn = proposal.entity_urn
            if urn is not checked_urn or check.entity_urns is not checked_urns:  # a run has several proposals
                check.entity_urns.check_one(urn)
                checked_urn, checked_urns = urn, check.entity_urns
            check.check_safe(proposal.aspect.json)

    def _check_grouped(self, proposals: list[Proposal]) -> None:
        """Check all proposals of a kind together; raise an error if one is invalid."""
        groups: dict[_AspectKey, list[Proposal]] = {}
        for proposal in proposals:
            aspect_key: _AspectKey = (proposal.entity_type, proposal.aspect_name, proposal.change_type)
            if (group := groups.get(aspect_key)) is None:
                groups[aspect_key] = [proposal]
            else:
                group.append(proposal)
        for aspect_key, group in groups.items():
            check = self._checks.get(aspect_key) or self._compile(*aspect_key)
            check.entity_urns.check([proposal.entity_urn for proposal in group])
            check.check_all([proposal.aspect.json for proposal in group])

    def check(self, proposal: Proposal) -> None:
        """Raise the error of a proposal that DataHub would reject.

        Args:
            proposal: the proposal.

        Raises:
            AspectError: the proposal is invalid.
        """
        error = self.refusal(proposal)
        try:
            if error is not None:
                raise error
        finally:
            del error  # it leads to this frame

    def refusal_text(self, proposal: Proposal) -> str | None:
        """Return the text of the error of a proposal that DataHub would reject.

        Args:
            proposal: the proposal.

        Returns:
            The text; None if the proposal is valid.
        """
        error = self.refusal(proposal)
        return None if error is None else str(error)

    def _compile(self, entity_type: str, aspect_name: str, change_type: str) -> _Check:
        """Return the checks of an entity's URN and of an aspect's value; raise a ValueError if there are none for these arguments."""
        profile = self._profile
        if not profile.has_aspect(entity_type, aspect_name):
            raise ValueError(f"DataHub {profile.name} has no aspect {aspect_name} on {entity_type}")
        file = schemas.load_index(profile.name).aspects.get(aspect_name)
        if file is None:
            raise ValueError(f"dh-bridge has no schema of the aspect {aspect_name}")
        schema = schemas.aspect_schema(profile.name, aspect_name) if change_type == "CREATE" else None
        if schema is not None and schemas.is_timeseries(schema):
            raise ValueError("a timeseries aspect does not support CREATE")
        if change_type == "PATCH":
            patch_checks = patch_check(aspect_name, file)
            if patch_checks is None:
                raise ValueError(
                    "this aspect does not support PATCH: it is a timeseries, or servers since 0.15 have no patch template for it"
                )
            checks: tuple[_Values, _Values, _Values] = patch_checks, patch_checks.check_safe, patch_checks.check_all
        else:
            checks = _value_checks(file)
            if aspect_name == _LARGE_ASPECT:
                safe_check = _LargeAspectCheck(checks[1])
                checks = _LargeAspectCheck(checks[0]), safe_check, safe_check.check_all
        if entity_type not in self._entities:
            self._entities[entity_type] = _EntityUrns(entity_type, profile.name)
        check = _Check(self._entities[entity_type], *checks)
        self._checks[entity_type, aspect_name, change_type] = check
        return check


def _check_value(file: str, value: Any) -> None:
    """Check one value; its texts may have any length."""
    avro_types.conform(value, avro_types.aspect_type(file))


class _Check(NamedTuple):
    """The check of one kind of proposal."""

    entity_urns: _EntityUrns
    check_one: _Values
    """Checks a value whose texts may have any length."""
    check_safe: _Values
    """Checks a value, and rejects search texts that may be too long."""
    check_all: _Values
    """Checks several values as ``check_safe`` does."""


def _value_checks(file: str) -> tuple[_Values, _Values, _Values]:
    """Return the checks of the aspect in a schema file: of one value, of one with short search texts, of several of these."""
    safe_type = avro_types.aspect_type(file, safe_texts=True)
    # wrapped: the conversion of a Struct is prepared once, that of a bare list each time
    values_type = prepare_type(msgspec.defstruct("Values", [("items", _list[safe_type])], gc=False, eq=False))

    def check_all(values: list[Any]) -> None:
        avro_types.conform({"items": values}, values_type)

    return partial(_check_value, file), partial(msgspec.convert, type=safe_type, dec_hook=avro_types.look_up), check_all


class _LargeAspectCheck:
    """The check of an aspect whose list of ``fields`` is large and the same again and again."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check
        #: lists that were found sound, by identity
        self._valid: GenerationalCache[list[Any]] = GenerationalCache()
        #: the same for kinds of fields, and for schema envelopes
        self._checked_kinds: dict[int, Any] = {}

    def __call__(self, value: Any) -> None:
        """Check the whole aspect; of fields that were found sound before, that they are the same object."""
        if type(value) is AlikeSchema:
            self._check_alike(value, value["fields"], value.envelope)
            return
        fields = value.get("fields") if type(value) is dict else None
        if type(fields) is AlikeFields:
            self._check_alike(value, fields, None)
            return
        if fields is not None and self._valid.get(id(fields)) is fields:
            self._check({**value, "fields": []})
            return
        self._check(value)
        # The id may be that of a deleted list. Then this list is cached one time too early, which only costs memory within the
        # bounds. Cached lists are compared by identity, and the id of a cached list cannot be reused.
        if fields is not None and self._valid.is_repeated(id(fields)):
            self._valid.store(id(fields), fields, _size_of(fields))

    def _check_alike(self, value: dict[str, Any], fields: AlikeFields, envelope: SchemaEnvelope | None) -> None:
        """Check the kinds of fields, and the schema envelope, that were not checked before."""
        checked_kinds = self._checked_kinds
        if fields.checked_by is self and envelope is not None and checked_kinds.get(id(envelope)) is envelope:
            return
        unchecked_kinds: list[Any] = [kind for kind in fields.kinds if checked_kinds.get(id(kind)) is not kind]
        self._check({**value, "fields": unchecked_kinds})
        if len(checked_kinds) + len(unchecked_kinds) >= _MAX_CACHED_KINDS:
            checked_kinds.clear()
        checked_kinds.update([(id(kind), kind) for kind in (*unchecked_kinds, envelope) if kind is not None])
        fields.checked_by = self

    def check_all(self, values: list[Any]) -> None:
        """Check several aspects."""
        for value in values:
            self(value)


def _size_of(fields: list[Any]) -> int:
    return sum([len(field.get("description", "")) for field in fields], _FIELD_BYTES * (len(fields) + 1))


class _EntityUrns(dict[str, bool]):
    """URNs of one entity type that match the key aspect of the profile; cleared when it is full."""

    def __init__(self, entity_type: str, version: str) -> None:
        self._type = entity_type
        file = next(file for file in schemas.load_index(version).aspects.values() if _is_key_of(file, entity_type))
        fields = schemas.load_schema(file)["fields"]
        self._names = [field["name"] for field in fields]
        self._key = avro_types.aspect_type(file)
        # Of plain words, and of a first URN whose type belongs to the shape, nothing is left to check.
        self._has_plain_key = all(
            field["type"] == "string" and (not index or avro_types.urn_field_type(field) is None)
            for index, field in enumerate(fields)
        )

    def check_one(self, urn: str) -> None:
        """Check one URN as :meth:`check` checks several."""
        if not self._has_plain_key:
            self[urn]
        elif urns.type_if_urn(urn) != self._type:
            self._refuse(urn)

    def check(self, entity_urns: list[str]) -> None:
        """Check URNs; a ValueError names the first that the key aspect does not take."""
        if not self._has_plain_key:
            for urn in entity_urns:
                self[urn]
        elif set(map(urns.type_if_urn, entity_urns)) != {self._type}:
            self._refuse(next(urn for urn in entity_urns if urns.type_if_urn(urn) != self._type))

    def __missing__(self, urn: str) -> bool:
        if urns.type_if_urn(urn) != self._type:
            self._refuse(urn)
        self._check_parts(urn)
        if len(self) >= _MAX_CACHED_URNS:
            self.clear()
        self[urn] = True
        return True

    def _refuse(self, urn: str) -> NoReturn:
        raise ValueError(f"{urn[: urns.MAX_BYTES]!r} is not a URN of {self._type} - at `entityUrn`")

    def _check_parts(self, urn: str) -> None:
        _, parts = urns.parse_urn(urn)
        try:
            avro_types.conform(dict(zip(self._names, parts, strict=True)), self._key)
        except avro_types.VALIDATION_ERRORS as error:
            raise ValueError(f"{urn!r} is not a URN of {self._type}: {error} - at `entityUrn`") from None


def _is_key_of(file: str, entity_type: str) -> bool:
    return file.endswith("Key.avsc") and schemas.load_schema(file)["Aspect"]["keyForEntity"] == entity_type


def _aspect_error(aspect_path: str, message: str) -> AspectError:
    """Return the error of a failed check; msgspec names the innermost path first."""
    paths = _find_paths(message)
    # A list or an object instead of a URN fails in the look-up, with Python's message.
    text = _unhashable(r"Expected a URN, got `\1`", re.sub(r" - at `.*?`", "", message))
    path = "$" + "".join(path.removeprefix("$") for path in reversed(paths))
    if paths[-1:] == ["entityUrn"]:
        path = "entityUrn"
    return AspectError(text, location=f"{aspect_path} {path}", remedy=_REMEDY)


@lru_cache
def validator(profile: Profile) -> Validator:
    """Return the validator of a profile, one per process."""
    return Validator(profile)
