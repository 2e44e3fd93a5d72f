"""Catalogs of Iceberg in a database, SQLite's or PostgreSQL's: which metadata is a table's newest.

Spark's JDBC catalog and pyiceberg's SQL catalog keep the same tables.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import URL, create_engine, inspect, make_url, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from streamapp_core.spec.table_systems import IcebergCatalog
from streamapp_systems.iceberg.catalog import CommitRefusedError
from streamapp_systems.iceberg.file_io import ROOT, PlaceFileIO
from streamapp_systems.objects import Place
from streamapp_systems.postgresql import is_passing
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import SecretReader

_BUSY_SECONDS = 30
_CONNECT_SECONDS = 10
_TABLES = "iceberg_tables"


@dataclass(frozen=True, kw_only=True)
class CatalogDatabase:
    """The database of a catalog, as whom it is opened, and the warehouse."""

    name: str
    url: URL = field(repr=False)
    root: Place

    @property
    def where(self) -> str:
        """See `CatalogAccess.where`."""
        return f"catalog {self.name} of {self.url.set(drivername=self.url.get_backend_name()).render_as_string()}"

    def open(self, *, create: bool = False) -> "OneTryCatalog | None":
        """See `CatalogAccess.open`; None if the database has no catalog."""
        file = self._file
        if file is not None:
            if not create and not file.is_file():
                return None
            file.parent.mkdir(parents=True, exist_ok=True)
        with self.explained("the catalog can't be opened"):
            catalog = OneTryCatalog(self)
            if create:
                try:
                    catalog.create_tables()
                except DBAPIError:  # another process has created some of them at the same time
                    catalog.create_tables()
            elif not inspect(catalog.engine).has_table(_TABLES):
                return None
            catalog.find_schema_version()
        return catalog

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """See `CatalogAccess.explained`."""
        try:
            yield
        except DBAPIError as error:
            raise self._database_error(what, error) from error
        except (SQLAlchemyError, ValueError, KeyError, OSError) as error:
            raise StreamSystemError(f"{what}: {error}") from error

    @property
    def _file(self) -> Path | None:
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    def _database_error(self, what: str, error: DBAPIError) -> StreamSystemError:
        said = " ".join(str(error.orig).split())
        if self._file is not None:
            passing = "locked" in said
            advice = "the file, its folder, and that its file system locks files"
        else:
            passing = is_passing(error.orig)
            advice = "that PostgreSQL runs there" if passing else "`catalog.uri` and the secret of `catalog.secretName`"
        return (Unavailable if passing else StreamSystemError)(f"{what}: {self.where}: {said}. Check {advice}")


def catalog_database(catalog: IcebergCatalog, folder: Path, root: Place, secrets: SecretReader) -> CatalogDatabase:
    """Return the database of a catalog; relative paths resolve from `folder`, `root` is the warehouse.

    Raises:
        StreamSystemError: the login is not there.
    """
    url = make_url(catalog.uri)
    if url.get_backend_name() == "sqlite":
        url = url.set(database=str((folder / (url.database or "")).absolute()))
    else:
        url = url.set(drivername="postgresql+psycopg")
    if catalog.secret_name is not None:
        login = {item: secrets.read(catalog.secret_name, item) for item in ("username", "password")}
        for item, value in login.items():
            if value is None:
                raise StreamSystemError(f"catalog.secretName: {secrets.advice(catalog.secret_name, item)}")
        url = url.set(username=login["username"], password=login["password"])
    return CatalogDatabase(name=catalog.name, url=url, root=root)


class OneTryCatalog(SqlCatalog):
    """A catalog that reads files as we do, and tries a commit once."""

    def __init__(self, database: CatalogDatabase) -> None:
        file_io = f"{PlaceFileIO.__module__}.{PlaceFileIO.__qualname__}"
        properties: dict[str, Any] = {"py-io-impl": file_io, ROOT: database.root}
        MetastoreCatalog.__init__(self, database.name, **properties)
        sqlite = database.url.get_backend_name() == "sqlite"
        patience = {"timeout": _BUSY_SECONDS} if sqlite else {"connect_timeout": _CONNECT_SECONDS}
        self.engine = create_engine(database.url, poolclass=NullPool, connect_args=patience)

    def find_schema_version(self) -> None:
        """Look which columns the database has: writers may not have those of views."""
        columns = {column["name"] for column in inspect(self.engine).get_columns(_TABLES)}
        self._schema_version = "v1" if "iceberg_type" in columns else "v0"

    def load_newer(self, name: Identifier, known: str | None) -> Table | None:
        """See `TableCatalog.load_newer`."""
        return None if known is not None and self._metadata_location(name) == known else self.load_table(name)

    def _metadata_location(self, name: Identifier) -> str | None:
        with Session(self.engine) as session:
            return session.scalar(
                select(IcebergTables.metadata_location).where(
                    IcebergTables.catalog_name == self.name,
                    IcebergTables.table_namespace == ".".join(name[:-1]),
                    IcebergTables.table_name == name[-1],
                )
            )

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """See `Catalog.commit_table`.

        Raises:
            CommitRefusedError: the table is another than it was.
        """
        try:
            return super().commit_table(table, requirements, updates)
        except CommitFailedException as error:
            raise CommitRefusedError(str(error)) from error

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:  # noqa: ARG002
        return PlaceFileIO(self.properties)
