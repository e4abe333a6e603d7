"""great_expectations_meta (run): suite, checkpoint, batch of a validation (Great Expectations' OpenLineage action)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

great_expectations_meta = kept_facet(
    "great_expectations_meta", at="run", doc="Suite, checkpoint, run id and batch of the validation.", producer="Great Expectations"
)
