"""What may be written at all: a switch for careful beginnings, heeded by everything that delivers."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from dh_bridge.settings.filters import PatternList, Patterns


class WritesSettings(BaseModel):
    """Allow-lists of entity types and aspects; an empty one allows all. Patterns are globs, as in ``filters``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entities: Patterns = Field(
        default=(), description="Types of entities that may be written, such as `dataJob`; empty: all."
    )
    aspects: Patterns = Field(
        default=(), description="Aspects that may be written, such as `dataProcessInstance*`; empty: all."
    )

    def refusal(self, entity_type: str, aspect_name: str) -> str | None:
        """Return the rule that keeps an aspect of an entity from being written; None when it may be."""
        return _refusal(self.entities, self.aspects, entity_type, aspect_name)


@lru_cache(maxsize=4096)
def _refusal(entities: Patterns, aspects: Patterns, entity_type: str, aspect_name: str) -> str | None:
    for rule, patterns, text in (("entities", entities, entity_type), ("aspects", aspects, aspect_name)):
        if PatternList(patterns).exclusion(text) is not None:
            return f"writes.{rule}: {text}"
    return None
