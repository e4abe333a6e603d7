from __future__ import annotations

import pytest

from dh_bridge.catalog.store import Catalog


@pytest.fixture
def catalog():
    with Catalog(":memory:") as opened:
        yield opened
