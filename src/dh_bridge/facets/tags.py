"""tags (run, job, dataset): labels. https://openlineage.io/docs/spec/facets/dataset-facets/tags"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, tag_urn
from dh_bridge.facet_support.facet_spec import Facet, as_property, entity_urn, facet, mapped, property_fact
from dh_bridge.model.facts import COLUMN_TAG, OWNER, RUN_PROPERTIES, TAG, TOMBSTONE_KEY, Facts
from dh_bridge.model.properties import json_text, property_text
from dh_bridge.value_maps.owner_types import untyped_owner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.facet_support.context import FacetContext

_MAX_TAG_PROPERTIES = 20
#: Every event of openlineage-python has it; a property is enough.
_CLIENT_VERSION_KEY = "openlineage_client_version"
#: Sources of tags that are a dbt model's own
_META_SOURCE = "DBT_META"
_MODEL_SOURCES = ("DBT", _META_SOURCE)


class Tag(Facet):
    """Key, value, source, and the column of a tag."""

    key: str = ""
    value: str | None = None
    source: str | None = None
    field: str | None = None


class Tags(Facet):
    """The tags."""

    tags: list[Tag] | None = None


def tag_name(tag: Tag) -> str:
    """Return DataHub's tag name: the key alone if the value adds nothing, else ``key:value``."""
    key, value = tag.key.strip(), (tag.value or "").strip()
    return key if value in ("", "true", "True", key) else f"{key}:{value}"


def _meta_owner(tag: Tag, ctx: FacetContext) -> tuple[str, str] | None:
    """Return the (owner, type) in a tag from the meta of a dbt model, by the setting ``dbt.model_metadata``."""
    model_metadata = ctx.options.settings.dbt.model_metadata
    if tag.source != _META_SOURCE or tag.key.strip() != "owner" or "owners" not in model_metadata:
        return None
    return untyped_owner(tag.value, ctx.options.settings.owners)


def _tag_context(tag: Tag) -> str | None:
    context = {name: value for name, value in (("source", tag.source), ("value", tag.value)) if value}
    return json_text(context) if context else None


def _tag_facts(facet: Tags, ctx: FacetContext) -> Facts:
    exclude = ctx.options.settings.tags.exclude
    for position, tag in enumerate(facet.tags or ()):
        if not tag.key.strip() or tag.key in exclude:
            for field_name in ("key", "value", "source", "field"):
                ctx.note_dropped(
                    f"tags[{position}].{field_name}", "policy:tags.exclude" if tag.key.strip() else "malformed"
                )
        elif (owner := _meta_owner(tag, ctx)) is not None:
            ctx.note_outcome(f"tags[{position}]", OWNER["[].owner"])
            yield entity_urn(ctx), OWNER, owner, None
        elif not is_urn(tag_urn(tag_name(tag))):
            ctx.note_dropped(f"tags[{position}]", "too-large")
        elif tag.field and ctx.attach == "dataset":
            for field_name in ("key", "value", "source"):
                if getattr(tag, field_name):
                    ctx.note_outcome(f"tags[{position}].{field_name}", COLUMN_TAG)
            column = ctx.name.spell_column(tag.field) if ctx.name is not None else tag.field
            yield ctx.dataset_urn, COLUMN_TAG, (column, tag_name(tag)), _tag_context(tag)
        else:
            yield entity_urn(ctx), TAG, tag_name(tag), _tag_context(tag)


def _retract(_: dict[str, Any], ctx: FacetContext) -> Facts:
    if not ctx.options.is_stateful:
        ctx.note_dropped("_deleted", "policy:state=none")  # earlier values are unknown
    yield entity_urn(ctx), TAG, "", None
    if ctx.attach == "dataset":
        yield ctx.dataset_urn, COLUMN_TAG, TOMBSTONE_KEY, None


_FIELD_OUTCOMES = {"tags[].key": mapped(TAG), "tags[].value": mapped(TAG), "tags[].source": mapped(TAG["[].context"])}


@facet("tags", attach="job", struct=Tags, retract=_retract, outcomes=_FIELD_OUTCOMES)
def job_tags(facet: Tags, ctx: FacetContext) -> Facts:
    """Tags of the job, or of the flow if the job is a flow."""
    yield from _tag_facts(facet, ctx)


@facet(
    "tags",
    attach="dataset",
    struct=Tags,
    retract=_retract,
    outcomes={
        **{path: mapped(*outcome.targets, COLUMN_TAG) for path, outcome in _FIELD_OUTCOMES.items()},
        "tags[].field": mapped(COLUMN_TAG["[].fieldPath"]),
    },
)
def dataset_tags(facet: Tags, ctx: FacetContext) -> Facts:
    """Tags of the dataset. A tag with a ``field`` is a tag of that column (editableSchemaMetadata)."""
    yield from _tag_facts(facet, ctx)


@facet(
    "tags",
    attach="run",
    struct=Tags,
    outcomes={f"tags[].{field_name}": as_property() for field_name in ("key", "value", "source")},
)
def run_tags(facet: Tags, ctx: FacetContext) -> Facts:
    """Properties of the run, because DataHub has no tags of runs."""
    rows = [
        {name: value for name, value in (("key", tag.key), ("value", tag.value), ("source", tag.source)) if value}
        for tag in facet.tags or ()
        if tag.key != _CLIENT_VERSION_KEY
    ]
    properties = {}
    value_text = property_text("tags", rows) if rows else None
    if value_text:
        properties["tags"] = value_text
    for position, tag in enumerate((facet.tags or ())[:_MAX_TAG_PROPERTIES]):
        if tag.key == _CLIENT_VERSION_KEY:
            ctx.note_dropped(f"tags[{position}].source", "no-field:implied by the key")
            for field_name in ("key", "value"):
                ctx.note_outcome(f"tags[{position}].{field_name}", RUN_PROPERTIES[_CLIENT_VERSION_KEY])
        value = property_text(f"tags.{tag.key}", tag.value) if tag.key and tag.value else None
        if value:
            properties[tag.key if tag.key == _CLIENT_VERSION_KEY else f"tags.{tag.key}"] = value
    if properties:
        yield property_fact(ctx, properties)
    if ctx.notes is not None:
        _note_other_targets(facet, ctx)
    settings = ctx.options.settings
    if settings.tags.of_runs == "job" and ctx.owner_urn:
        yield from _entity_tag_facts(facet, (ctx.owner_urn,), ctx)
    models = [tag for tag in facet.tags or () if tag.source in _MODEL_SOURCES]
    owners = [(tag, owner) for tag in models if (owner := _meta_owner(tag, ctx)) is not None]
    for urn in ctx.outputs:
        for _, owner in owners:
            yield urn, OWNER, owner, None
    if "tags" in settings.dbt.model_metadata:
        owner_tags = [tag for tag, _ in owners]
        yield from _entity_tag_facts(Tags(tags=[tag for tag in models if tag not in owner_tags]), ctx.outputs, ctx)


def _entity_tag_facts(facet: Tags, entities: Sequence[str], ctx: FacetContext) -> Facts:
    """Yield the tags of a run as tags of its job or of its outputs."""
    for tag in facet.tags or ():
        if _is_tag(tag, ctx):
            for urn in entities:
                yield urn, TAG, tag_name(tag), _tag_context(tag)


def _is_tag(tag: Tag, ctx: FacetContext) -> bool:
    """Whether the tag of a run may be one of DataHub's."""
    return bool(tag.key.strip()) and tag.key not in ctx.options.settings.tags.exclude and is_urn(tag_urn(tag_name(tag)))


def _note_other_targets(facet: Tags, ctx: FacetContext) -> None:
    """Note for the report that settings also write the tags of a run on its job or its outputs."""
    settings = ctx.options.settings
    for position, tag in enumerate(facet.tags or ()):
        path, is_model_tag = f"tags[{position}]", tag.source in _MODEL_SOURCES and bool(ctx.outputs)
        if is_model_tag and _meta_owner(tag, ctx) is not None:
            ctx.note_dataset(path, ctx.outputs[0])
            ctx.note_outcome(path, RUN_PROPERTIES, OWNER["[].owner"])
        elif _is_tag(tag, ctx) and ctx.owner_urn and settings.tags.of_runs == "job":
            ctx.note_outcome(path, RUN_PROPERTIES, TAG)
        elif _is_tag(tag, ctx) and is_model_tag and "tags" in settings.dbt.model_metadata:
            ctx.note_dataset(path, ctx.outputs[0])
            ctx.note_outcome(path, RUN_PROPERTIES, TAG)
