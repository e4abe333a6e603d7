"""Allow-lists of entity types and aspects, applied to all targets."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from dh_bridge.settings.filters import PatternList, Patterns


class WritesSettings(BaseModel):
    """Allow-lists of entity types and aspects. An empty list allows all. Patterns are globs, as in ``filters``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entities: Patterns = Field(default=(), description="Entity types to write, such as `dataJob`. Empty: all.")
    aspects: Patterns = Field(default=(), description="Aspects to write, such as `dataProcessInstance*`. Empty: all.")

    def refusal(self, entity_type: str, aspect_name: str) -> str | None:
        """Return the rule that rejects an aspect of an entity; None if it may be written."""
        return _refusal(self.entities, self.aspects, entity_type, aspect_name)


@lru_cache(maxsize=4096)
def _refusal(entities: Patterns, aspects: Patterns, entity_type: str, aspect_name: str) -> str | None:
    for rule, patterns, text in (("entities", entities, entity_type), ("aspects", aspects, aspect_name)):
        if PatternList(patterns).exclusion(text) is not None:
            return f"writes.{rule}: {text}"
    return None
