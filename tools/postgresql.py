"""A server of PostgreSQL on the loopback interface; `python -m tools.postgresql` installs one, if there is none."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from tools.cluster.ports import free_ports
from tools.debian_package import install_package

USER, PASSWORD = "app", "not-a-secret"
_DEBIAN = Path("/usr/lib/postgresql")
_START_SECONDS = 120


def server_programs() -> Path | None:
    """Return the folder of the server's programs; None: this machine has none."""
    found = shutil.which("initdb")
    installed = sorted(_DEBIAN.glob("*/bin/initdb"))
    return Path(found).resolve().parent if found else installed[-1].parent if installed else None


class PostgresServer:
    """A server with an empty database; it refuses to run as root, and then runs as nobody."""

    def __init__(self, bin_folder: Path) -> None:
        """Start it, of the programs in a folder."""
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
        (self._port,) = free_ports(1)
        self.start()

    @property
    def uri(self) -> str:
        """The address of its database, as in a spec."""
        return f"postgresql://127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it takes connections.

        Raises:
            TimeoutError: it does not.
        """
        self._process = subprocess.Popen(  # noqa: S603 - a program of PostgreSQL
            [self._bin / "postgres", "-D", self._folder / "data", "-p", str(self._port), "-k", self._folder, "-F"],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _START_SECONDS
        ready = [str(self._bin / "pg_isready"), "-h", "127.0.0.1", "-p", str(self._port)]
        while subprocess.run(ready, stdout=subprocess.DEVNULL, check=False).returncode:  # noqa: S603 - likewise
            if time.monotonic() > deadline:
                raise TimeoutError(f"PostgreSQL did not start in {_START_SECONDS} s")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it at once: connections end."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def close(self) -> None:
        """Stop it and remove its files."""
        self.stop()
        shutil.rmtree(self._folder)

    def _run(self, name: str, *options: str) -> None:
        subprocess.run(  # noqa: S603 - a program of PostgreSQL
            [self._bin / name, *options], user=self._user, cwd=self._folder, check=True, stdout=subprocess.DEVNULL
        )


if __name__ == "__main__" and server_programs() is None:
    sys.stdout.write("== installing PostgreSQL\n")
    sys.stdout.flush()
    install_package("postgresql")
