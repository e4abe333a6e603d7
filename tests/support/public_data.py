"""Public data that is not in the project: OpenLineage's specification, real events, pages of other projects.

Tests that need a folder are skipped where it is absent; the reason says how to get it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared"

SPEC = Path(os.environ.get("TESTS_OPENLINEAGE_SPEC") or _BESIDE / "openlineage-spec")
"""The folder ``spec`` of OpenLineage's repository: schemas of the events and facets, and documents with one facet each."""

CORPUS = Path(os.environ.get("TESTS_CORPUS") or _BESIDE / "corpus")
"""Events of the test suites of OpenLineage and Marquez, a folder for each suite, a file for each event."""

PAGES = Path(os.environ.get("TESTS_PAGES") or _BESIDE / "seeds")
"""Pages of DataHub's and other projects' documentation, as text."""

WILD = Path(os.environ.get("TESTS_WILD") or _BESIDE / "wild")
"""Events that other projects publish, a folder for each project, a file for each event."""

NO_SPEC = (
    f"OpenLineage's specification is not at {SPEC}: git clone https://github.com/OpenLineage/OpenLineage, "
    "then set TESTS_OPENLINEAGE_SPEC to its folder spec"
)
NO_CORPUS = (
    f"there are no events at {CORPUS}: set TESTS_CORPUS to a folder with a folder for each source and a JSON file for each event, "
    "such as consumer/scenarios of https://github.com/OpenLineage/compatibility-tests"
)
NO_WILD = (
    f"there are no events at {WILD}: set TESTS_WILD to a folder with a folder for each project and a JSON file for each event, "
    "such as the examples of https://github.com/atlanhq/generic-openlineage-examples"
)
NO_PAGES = (
    f"there are no pages at {PAGES}: save the pages of docs/coverage.md as text and set TESTS_PAGES to their folder"
)

needs_spec = pytest.mark.skipif(not SPEC.is_dir(), reason=NO_SPEC)
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=NO_CORPUS)
needs_wild = pytest.mark.skipif(not WILD.is_dir(), reason=NO_WILD)
