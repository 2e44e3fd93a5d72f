"""A server of PostgreSQL for tests, of the binaries that this machine has."""

from dataclasses import dataclass

import psycopg
from tools import postgresql
from tools.postgresql import PASSWORD, USER


@dataclass(frozen=True)
class Database:
    """A database of the server, at an address as in a spec."""

    uri: str

    def query(self, statement: str, *values) -> list[tuple]:
        """Run a statement in a transaction of its own; give its rows."""
        with psycopg.connect(self.uri, user=USER, password=PASSWORD) as connection:
            found = connection.execute(statement, values or None)
            return found.fetchall() if found.description else []

    def staged(self) -> int:
        """Count the rows that wait in staging tables."""
        names = self.query(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'streamapp'"
        )
        return sum(self.query(f"SELECT count(*) FROM {name}")[0][0] for (name,) in names)


class PostgresServer(postgresql.PostgresServer):
    """A server with databases for tests."""

    def make_database(self, name: str, options: str = "") -> Database:
        """Create a database."""
        with psycopg.connect(self.uri, user=USER, password=PASSWORD, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}")
        return Database(f"{self.uri.rpartition('/')[0]}/{name}")
