"""A database of PostgreSQL: how it is reached, and what its errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from streamapp_core.spec.systems import PostgresqlSystem
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.secret_reader import SecretReader

_CONNECT_SECONDS = 10
_LOST_MILLISECONDS = 30_000
"""How long a server may leave what was sent to it unanswered, as TCP sees it, before the connection counts as lost."""
_KEEPALIVE_SECONDS, _KEEPALIVE_PROBES = 10, 3
"""How a server that is gone while it works on a statement is noticed, too."""
_LOCK_SECONDS = 60
_OLDEST = 15
"""The first major version with unique keys in which nulls are equal."""
_REFUSED = ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry")
"""What PostgreSQL says, without a code, of connections that it would refuse again."""
_PASSING = ("08", "40", "53", "57", "25006", "55P03")
"""The beginnings of SQLSTATEs of what may succeed later.

Lost connections, deadlocks, a lack of resources, a server that ends or begins, one that is not the primary any more or
not yet, and locks that others hold.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlDatabase:
    """A database, and the login to it."""

    uri: str
    staging_schema: str
    username: str | None
    password: str | None = field(repr=False)

    def connect(self) -> Connection[TupleRow]:
        """Connect to the primary; each statement is a transaction, unless a block makes one of several.

        Raises:
            Unavailable: it does not answer.
            StreamSystemError: it refuses the login, or is too old.
        """
        with self.explained("it can't be connected to"):
            connection = psycopg.connect(
                self.uri,
                user=self.username,
                password=self.password,
                application_name="streamapp",
                client_encoding="utf8",
                connect_timeout=_CONNECT_SECONDS,
                tcp_user_timeout=_LOST_MILLISECONDS,
                keepalives_idle=_KEEPALIVE_SECONDS,
                keepalives_interval=_KEEPALIVE_SECONDS,
                keepalives_count=_KEEPALIVE_PROBES,
                target_session_attrs="read-write",
                autocommit=True,
            )
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
            connection.execute(f"SET idle_in_transaction_session_timeout = '{_LOCK_SECONDS}s'")
        if connection.info.server_version < _OLDEST * 10_000:
            version = connection.info.server_version // 10_000
            connection.close()
            raise StreamSystemError(f"{self.uri} is PostgreSQL {version}: {_OLDEST} or newer is needed")
        return connection

    @contextmanager
    def explained(self, what: str, advice: str = "") -> Iterator[None]:
        """Turn what the library raises in the block into messages: `what` could not be done, and what to do.

        Raises:
            Unavailable: the database does not answer, or could do it later.
            StreamSystemError: it refuses.
        """
        try:
            yield
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            if is_passing(error):
                raise Unavailable(f"{what}: {self.uri}: {said}. Check that PostgreSQL runs there") from error
            advice = advice or "Check the database, and that the user of `secretName` has the rights"
            raise StreamSystemError(f"{what}: {self.uri}: {said}. {advice}") from error


def is_passing(error: BaseException | None) -> bool:
    """Return whether what PostgreSQL refused, or did not answer, may succeed later."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(_PASSING)
    return isinstance(error, psycopg.OperationalError) and not any(text in str(error) for text in _REFUSED)


def open_database(system: PostgresqlSystem, secrets: SecretReader) -> PostgresqlDatabase:
    """Return the database of a system, and read the login to it; nothing is connected yet.

    Raises:
        StreamSystemError: the login is not there.
    """
    username = password = None
    if system.secret_name is not None:
        username, password = (secrets.read(system.secret_name, item) for item in ("username", "password"))
        for item, value in (("username", username), ("password", password)):
            if value is None:
                raise StreamSystemError(f"postgresql.secretName: {secrets.advice(system.secret_name, item)}")
    return PostgresqlDatabase(
        uri=system.uri, staging_schema=system.staging_schema, username=username, password=password
    )
