"""Tables of PostgreSQL as outputs: rows are staged in the database, and one statement publishes those of a commit."""

from streamapp_systems.postgresql.database import PostgresqlDatabase, is_passing, open_database
from streamapp_systems.postgresql.database_output import DatabaseOutput
from streamapp_systems.postgresql.database_table import DatabaseTable
from streamapp_systems.postgresql.staging_table import StagedRows

__all__ = ["DatabaseOutput", "DatabaseTable", "PostgresqlDatabase", "StagedRows", "is_passing", "open_database"]
