"""Iceberg's own catalog with a REST API on the loopback interface, for tables in folders of this machine."""

import socket
import time
from pathlib import Path

from tools.cluster.ports import free_ports
from tools.companion import Companion
from tools.kafka.jars import BrokerError, kafka_jars
from tools.scratch import Scratch
from tools.startable import Startable

TOKEN = "a-token"  # noqa: S105 - a test's
CLIENT = "tester"
"""The id of a client that gets a token for any secret, as the catalog's tests have it."""
_FOLDER = Path(__file__).parent
_START_SECONDS = 180


class RestCatalog(Startable):
    """A catalog process. `with RestCatalog(cache) as catalog:` starts it, and removes it with all that it holds."""

    def __init__(self, cache: Path) -> None:
        """Fetch it, if it is not in the cache (about 32 MB).

        Raises:
            BrokerError: it can't be fetched.
        """
        self._jars = kafka_jars(cache, _FOLDER / "pom.xml")
        self._scratch = Scratch("streamapp-catalog-")
        (self._port,) = free_ports(1)
        self._process: Companion | None = None

    @property
    def uri(self) -> str:
        """The address of its API."""
        return f"http://127.0.0.1:{self._port}"

    def stop(self) -> None:
        """End the process, as a crash would; its tables stay."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def start(self) -> None:
        """Start it again, at the same address.

        Raises:
            BrokerError: it does not start.
        """
        folder = self._scratch.folder
        tokens = f"{TOKEN},client-credentials-token:sub={CLIENT}"
        options = ["-XX:TieredStopAtLevel=1", "-Xmx300m", "-cp", f"{self._jars}/*"]
        program = [str(_FOLDER / "RestCatalog.java"), str(self._port), str(folder / "catalog.db"), tokens]
        self._process = Companion(["java", *options, *program], folder / "log")
        deadline = time.monotonic() + _START_SECONDS
        while not self._listens():
            if self._process.ended or time.monotonic() > deadline:
                raise BrokerError(f"the catalog did not start:\n{(folder / 'log').read_text()[-4000:]}")
            time.sleep(0.1)

    def close(self) -> None:
        """End the process, and remove what it holds."""
        self.stop()
        self._scratch.close()

    def _start(self) -> None:
        self.start()

    def _listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1):
                return True
        except OSError:
            return False
