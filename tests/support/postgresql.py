"""A server of PostgreSQL for tests, of the binaries that this machine has."""

import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import psycopg

from support.waiting import eventually

USER, PASSWORD = "app", "not-a-secret"


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


class PostgresServer:
    """A server with an empty database; it refuses to run as root, and then runs as nobody."""

    def __init__(self, bin_folder: Path) -> None:
        self._bin = bin_folder
        self._folder = Path(mkdtemp(prefix="postgresql-", dir="/tmp"))
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = str(self._folder / "data")
        self._run("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "-N")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def uri(self) -> str:
        """The address of its database, as in a spec."""
        return f"postgresql://127.0.0.1:{self.port}/postgres"

    def make_database(self, name: str, options: str = "") -> "Database":
        """Create a database."""
        with psycopg.connect(self.uri, user=USER, password=PASSWORD, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}")
        return Database(f"postgresql://127.0.0.1:{self.port}/{name}")

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", self._folder / "data", "-p", str(self.port), "-k", self._folder, "-F"],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ready = [self._bin / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port)]
        assert eventually(lambda: subprocess.run(ready, stdout=subprocess.DEVNULL, check=False).returncode == 0)

    def stop(self) -> None:
        """Stop it at once: connections end."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def close(self) -> None:
        """Stop it and remove its files."""
        self.stop()
        shutil.rmtree(self._folder)

    def _run(self, name: str, *options: str) -> None:
        subprocess.run(
            [self._bin / name, *options], user=self._user, cwd=self._folder, check=True, stdout=subprocess.DEVNULL
        )
