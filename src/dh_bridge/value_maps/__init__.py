"""The tables of ``mappings/tables``: what producers' words are in DataHub."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from dh_bridge.assertions import AssertionTable, ErrorTable
from dh_bridge.bundled import load_table, user_tables
from dh_bridge.columns import TypeTable, column_types
from dh_bridge.value_maps.dataset_types import DatasetTypes
from dh_bridge.value_maps.operation_types import OperationTypes
from dh_bridge.value_maps.owner_types import OwnerTypes
from dh_bridge.value_maps.sql_dialects import SqlDialects

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


class ValueMaps:
    """The tables by the names of their files, except ``symlinks``, which belongs to naming.

    Bundled tables are read at the first use. Tables of a user's folder are read at once: a MappingError names file and problem.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.mappings
        self._types = settings.schema_.types
        for name in user_tables(self._folder):
            getattr(self, name, None)

    @cached_property
    def assertions(self) -> AssertionTable:
        """Names of checks and their meaning."""
        return load_table("assertions", AssertionTable, self._folder)

    @cached_property
    def assertion_errors(self) -> ErrorTable:
        """Why a check could not be evaluated, by its message."""
        return load_table("assertion_errors", ErrorTable, self._folder)

    @cached_property
    def column_types(self) -> TypeTable:
        """What type texts are, with the settings on top."""
        return column_types(self._folder).override(self._types)

    @cached_property
    def dataset_types(self) -> DatasetTypes:
        """What kinds of datasets are called."""
        return load_table("dataset_types", DatasetTypes, self._folder)

    @cached_property
    def operation_types(self) -> OperationTypes:
        """What words and statements do to a dataset."""
        return load_table("operation_types", OperationTypes, self._folder)

    @cached_property
    def owner_types(self) -> OwnerTypes:
        """What kinds of owners are called."""
        return load_table("owner_types", OwnerTypes, self._folder)

    @cached_property
    def sql_dialects(self) -> SqlDialects:
        """Whose SQL a dialect is."""
        return load_table("sql_dialects", SqlDialects, self._folder)
