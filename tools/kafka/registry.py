"""A schema registry, Apicurio's (the last one that Java 17 runs), on the loopback interface; it keeps nothing."""

import tarfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tools.cluster.ports import free_ports
from tools.companion import Companion
from tools.kafka.jars import BrokerError, kafka_jars
from tools.scratch import Scratch
from tools.startable import Startable

POM = Path(__file__).with_name("registry.xml")
_START_SECONDS = 180


def registry_archive(cache: Path) -> Path:
    """Return the archive with the registry's program, fetched if it is not in the cache (about 110 MB).

    Raises:
        BrokerError: it can't be fetched.
    """
    (archive,) = kafka_jars(cache, POM, "copy").glob("*.tar.gz")
    return archive


class Registry(Startable):
    """A registry process. `with Registry(cache) as registry:` starts it and removes it."""

    def __init__(self, cache: Path, port: int = 0) -> None:
        """Fetch it, if it is not in the cache; `port` 0 takes a free one.

        Raises:
            BrokerError: it can't be fetched.
        """
        self._archive = registry_archive(cache)
        self._scratch = Scratch("streamapp-registry-")
        self._port = port or free_ports(1)[0]
        self._process: Companion | None = None

    @property
    def url(self) -> str:
        """The address of its API that is Confluent's."""
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def close(self) -> None:
        """End the process and remove what it holds."""
        if self._process is not None:
            self._process.kill()
        self._scratch.close()

    def _start(self) -> None:
        folder = self._scratch.folder
        with tarfile.open(self._archive) as archive:
            archive.extractall(folder, filter="data")
        (jar,) = folder.glob("*-runner.jar")
        address = [f"-Dquarkus.http.port={self._port}", "-Dquarkus.http.host=127.0.0.1"]
        command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx400m", *address, "-jar", str(jar)]
        self._process = Companion(command, folder / "log")
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.ended or time.monotonic() > deadline:
                raise BrokerError(f"the registry did not start:\n{(folder / 'log').read_text()[-4000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/subjects", timeout=5) as answer:  # noqa: S310 - our own
                return bool(answer.status == 200)  # noqa: PLR2004 - OK
        except (URLError, OSError):
            return False
