"""Migrations: who owns tables in the file, and how an older file is brought up to date.

Catalogue and ledger share a file, so that a batch is one transaction, and its ``PRAGMA user_version`` counts the migrations of
both. Each owner declares its tables in a module with ``MIGRATIONS`` (version -> statements) and ``find_fault``; the storage
loads these modules by name, as it lies below their packages.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLE_OWNER_MODULES = ("dh_bridge.catalog.schema", "dh_bridge.ledger.schema")
"""The modules that own tables."""


class TableOwner(Protocol):
    """A module that owns tables."""

    MIGRATIONS: Mapping[int, str]

    def find_fault(self, connection: sqlite3.Connection, /) -> str | None:
        """Return the problem in the rows of its tables; None if there is none."""
        ...


@cache
def table_owners() -> tuple[TableOwner, ...]:
    """Return the modules that own tables."""
    return tuple(cast("TableOwner", import_module(name)) for name in TABLE_OWNER_MODULES)


def sorted_migrations() -> list[tuple[int, str]]:
    """Return the migrations of all owners by version; those of one version in the order of the owners."""
    all_migrations = [(version, text) for owner in table_owners() for version, text in owner.MIGRATIONS.items()]
    return sorted(all_migrations, key=itemgetter(0))


def newest_version() -> int:
    """Return the ``user_version`` of a file that this release writes."""
    return sorted_migrations()[-1][0]


def oldest_version() -> int:
    """Return the oldest ``user_version`` that this release can bring up to date."""
    return sorted_migrations()[0][0]


def user_version(connection: sqlite3.Connection) -> int:
    """Return the version of a file, 0 if it is empty."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def split_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; a semicolon in a comment or a text ends none.

    They are run one by one, as ``executescript`` of :mod:`sqlite3` commits the transaction first.

    >>> list(split_statements("CREATE TABLE a (b); CREATE /* one; two */ TABLE c (d)"))
    ['CREATE TABLE a (b);', 'CREATE /* one; two */ TABLE c (d);']
    """
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            if statement.strip(";\n\t "):
                yield statement.strip()
            statement = ""


def migrate(connection: sqlite3.Connection, *, application_id: int) -> None:
    """Run the migrations that a file has not seen, in one transaction; two openers at once run them once."""
    if user_version(connection) == newest_version():
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        file_version = user_version(connection)
        for version, text in sorted_migrations():
            if version > file_version:
                for statement in split_statements(text):
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {application_id}")
        connection.execute(f"PRAGMA user_version = {newest_version()}")
    except sqlite3.Error:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
