"""The catalog of tables of Iceberg, as these need it, whatever keeps it."""

from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa
from pyiceberg.table import CreateTableTransaction, Table
from pyiceberg.typedef import Identifier

from streamapp_systems.objects import Place


class CommitRefusedError(Exception):
    """A commit that the catalog has refused, since the table is another than it was.

    It is none of the library's errors: at those it tries again on what others have committed meanwhile, or removes the
    manifests, which may have been taken where an answer was lost.
    """


class TableCatalog(Protocol):
    """A catalog that is open. It tries a commit once: `CommitRefusedError` says that somebody else was faster."""

    def load_newer(self, name: Identifier, known: str | None) -> Table | None:
        """Load a table; None if its newest metadata is at a location that is `known`.

        Raises:
            NoSuchTableError: there is none.
        """
        ...

    def create_namespace(self, namespace: Identifier) -> None:
        """Create a namespace.

        Raises:
            NamespaceAlreadyExistsError: there is one.
        """
        ...

    def create_table_transaction(
        self, identifier: Identifier, schema: pa.Schema, location: str
    ) -> CreateTableTransaction:
        """Begin to create a table."""
        ...


class CatalogAccess(Protocol):
    """A catalog as it is reached, and the warehouse, whose place is `root`."""

    @property
    def root(self) -> Place:
        """The folder of the tables that are created."""
        ...

    @property
    def where(self) -> str:
        """The catalog, for messages."""
        ...

    def open(self, *, create: bool = False) -> TableCatalog | None:
        """Open the catalog; None if there is none, unless it is to `create` one.

        Raises:
            StreamSystemError: it can't be opened.
        """
        ...

    def explained(self, what: str) -> AbstractContextManager[None]:
        """Turn what the libraries raise in the block into messages that begin with `what`.

        Raises:
            Unavailable: what keeps the catalog does not answer.
            StreamSystemError: it refuses, or a file of the table is not as Iceberg's are.
        """
        ...
