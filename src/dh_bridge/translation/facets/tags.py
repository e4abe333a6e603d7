"""tags (run, job, dataset): labels. https://openlineage.io/docs/spec/facets/dataset-facets/tags"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, tag_urn
from dh_bridge.translation.facet import Facet, entity, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import ALL, COLUMN_TAG, OWNER, RUN_PROPERTIES, TAG, Statements
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.properties import text
from dh_bridge.translation.reading.people import stated_owner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.translation.context import Place

_SIMPLE = 20
#: Every event of openlineage-python carries it: a property of its own says enough.
_CLIENT = "openlineage_client_version"
#: Sources of tags that are a dbt model's own
_META = "DBT_META"
_OF_MODELS = ("DBT", _META)


class Tag(Facet):
    """Key, value, who says so, and the column that it is about."""

    key: str = ""
    value: str | None = None
    source: str | None = None
    field: str | None = None


class Tags(Facet):
    """The tags."""

    tags: list[Tag] | None = None


def tag_name(tag: Tag) -> str:
    """Return DataHub's tag name: the key alone when the value says no more, else ``key:value``."""
    key, value = tag.key.strip(), (tag.value or "").strip()
    return key if value in ("", "true", "True", key) else f"{key}:{value}"


def _meta_owner(tag: Tag, at: Place) -> tuple[str, str] | None:
    """Return the (owner, type) that a tag from a dbt model's meta names, where ``dbt.model_owner`` asks for it."""
    if tag.source != _META or tag.key.strip() != "owner" or at.options.settings.dbt.model_owner != "owner":
        return None
    return stated_owner(tag.value, at.options.settings.owners)


def _context(tag: Tag) -> str | None:
    context = {name: value for name, value in (("source", tag.source), ("value", tag.value)) if value}
    return text(context) if context else None


def _tags(facet: Tags, at: Place) -> Statements:
    exclude = at.options.settings.tags.exclude
    for position, tag in enumerate(facet.tags or ()):
        if not tag.key.strip() or tag.key in exclude:
            for leaf in ("key", "value", "source", "field"):
                at.withheld(f"tags[{position}].{leaf}", "policy:tags.exclude" if tag.key.strip() else "malformed")
        elif (owner := _meta_owner(tag, at)) is not None:
            at.reached(f"tags[{position}]", OWNER["[].owner"])
            yield entity(at), OWNER, owner, None
        elif not is_urn(tag_urn(tag_name(tag))):
            at.withheld(f"tags[{position}]", "too-large")
        elif tag.field and at.attach == "dataset":
            for leaf in ("key", "value", "source"):
                if getattr(tag, leaf):
                    at.reached(f"tags[{position}].{leaf}", COLUMN_TAG)
            column = at.name.column(tag.field) if at.name is not None else tag.field
            yield at.dataset, COLUMN_TAG, (column, tag_name(tag)), _context(tag)
        else:
            yield entity(at), TAG, tag_name(tag), _context(tag)


def _retracts(_: dict[str, Any], at: Place) -> Statements:
    if not at.options.stateful:
        at.withheld("_deleted", "policy:state=none")  # what was said before cannot be known
    yield entity(at), TAG, "", None
    if at.attach == "dataset":
        yield at.dataset, COLUMN_TAG, ALL, None


_LEAVES = {"tags[].key": mapped(TAG), "tags[].value": mapped(TAG), "tags[].source": mapped(TAG["[].context"])}


@facet("tags", at="job", reads=Tags, retracts=_retracts, leaves=_LEAVES)
def job_tags(facet: Tags, at: Place) -> Statements:
    """Tags of the job, or of the flow when the job is one."""
    yield from _tags(facet, at)


@facet(
    "tags",
    at="dataset",
    reads=Tags,
    retracts=_retracts,
    leaves={
        **{path: mapped(*row.targets, COLUMN_TAG) for path, row in _LEAVES.items()},
        "tags[].field": mapped(COLUMN_TAG["[].fieldPath"]),
    },
)
def dataset_tags(facet: Tags, at: Place) -> Statements:
    """Tags of the dataset; those with a ``field`` are tags of that column (editableSchemaMetadata)."""
    yield from _tags(facet, at)


@facet(
    "tags",
    at="run",
    reads=Tags,
    leaves={f"tags[].{leaf}": kept() for leaf in ("key", "value", "source")},
)
def run_tags(facet: Tags, at: Place) -> Statements:
    """Properties of the run: DataHub has no tags on runs, and a job's tags are its own facet's."""
    rows = [
        {name: value for name, value in (("key", tag.key), ("value", tag.value), ("source", tag.source)) if value}
        for tag in facet.tags or ()
        if tag.key != _CLIENT
    ]
    properties = {}
    written = kept_text("tags", rows) if rows else None
    if written:
        properties["tags"] = written
    for position, tag in enumerate((facet.tags or ())[:_SIMPLE]):
        if tag.key == _CLIENT:
            at.withheld(f"tags[{position}].source", "no-home:the key names the sender")
            for leaf in ("key", "value"):
                at.reached(f"tags[{position}].{leaf}", RUN_PROPERTIES[_CLIENT])
        value = kept_text(f"tags.{tag.key}", tag.value) if tag.key and tag.value else None
        if value:
            properties[tag.key if tag.key == _CLIENT else f"tags.{tag.key}"] = value
    if properties:
        yield property_statement(at, properties)
    if at.notes is not None:
        _note(facet, at)
    settings = at.options.settings
    if settings.tags.of_runs == "job" and at.owner:
        yield from _tags_of(facet, (at.owner,), at)
    models = [tag for tag in facet.tags or () if tag.source in _OF_MODELS]
    owners = [(tag, owner) for tag in models if (owner := _meta_owner(tag, at)) is not None]
    for urn in at.outputs:
        for _, owner in owners:
            yield urn, OWNER, owner, None
    if settings.dbt.run_tags == "dataset":
        named = [tag for tag, _ in owners]
        yield from _tags_of(Tags(tags=[tag for tag in models if tag not in named]), at.outputs, at)


def _tags_of(facet: Tags, entities: Sequence[str], at: Place) -> Statements:
    """Yield the tags of a run as tags of what it ran or wrote."""
    for tag in facet.tags or ():
        if _is_tag(tag, at):
            for urn in entities:
                yield urn, TAG, tag_name(tag), _context(tag)


def _is_tag(tag: Tag, at: Place) -> bool:
    """Whether the tag of a run may be one of DataHub's."""
    return bool(tag.key.strip()) and tag.key not in at.options.settings.tags.exclude and is_urn(tag_urn(tag_name(tag)))


def _note(facet: Tags, at: Place) -> None:
    """Note for the report where, by settings, tags of a run are beside its properties: on its job, or on what it wrote."""
    settings = at.options.settings
    for position, tag in enumerate(facet.tags or ()):
        path, of_model = f"tags[{position}]", tag.source in _OF_MODELS and bool(at.outputs)
        if of_model and _meta_owner(tag, at) is not None:
            at.about(path, at.outputs[0])
            at.reached(path, RUN_PROPERTIES, OWNER["[].owner"])
        elif _is_tag(tag, at) and at.owner and settings.tags.of_runs == "job":
            at.reached(path, RUN_PROPERTIES, TAG)
        elif _is_tag(tag, at) and of_model and settings.dbt.run_tags == "dataset":
            at.about(path, at.outputs[0])
            at.reached(path, RUN_PROPERTIES, TAG)
