"""``pytest tests/golden --update-golden`` writes the golden files anew; read the difference before you commit it."""

from __future__ import annotations


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")
