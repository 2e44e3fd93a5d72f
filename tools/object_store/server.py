"""A server that speaks S3 on the loopback interface: versitygw, whose objects are files of a folder."""

import os
import socket
import time
from pathlib import Path

from tools.cluster.binaries import build_program, go_version
from tools.cluster.cached import kept, key_of
from tools.cluster.errors import ClusterError
from tools.cluster.ports import free_ports
from tools.cluster.process import run, say
from tools.companion import Companion
from tools.scratch import Scratch
from tools.startable import Startable

ACCESS_KEY, SECRET_KEY = "tester", "not-a-secret"
REGION = "eu-test-1"
_MODULE = Path(__file__).with_name("module")
_PACKAGE = "github.com/versity/versitygw/cmd/versitygw"
_PROGRAM = "versitygw"
_START_SECONDS = 60


def server_program(cache: Path) -> Path:
    """Return the program, built if missing.

    Raises:
        ClusterError: there is no Go, or the build failed.
    """
    key = key_of(sorted(_MODULE.iterdir()), go_version(), _PACKAGE)
    return kept(cache, f"object-store-go-{key}", _build, what="building an S3 server, about 2 minutes") / _PROGRAM


def _build(work: Path) -> None:
    say("   downloading the modules")
    run(["go", "mod", "download"], cwd=_MODULE)
    build_program(_PACKAGE, work / _PROGRAM, "-s -w", _MODULE)


class ObjectServer(Startable):
    """A server. `with ObjectServer(cache) as server:` starts it, and removes it with all that it holds."""

    def __init__(self, cache: Path) -> None:
        """Build it, if it is not in the cache.

        Raises:
            ClusterError: it can't be built.
        """
        self._program = server_program(cache)
        self._scratch = Scratch("streamapp-objects-")
        (self._port,) = free_ports(1)
        self._process: Companion | None = None

    @property
    def endpoint(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[str]:
        """The requests that it has answered, in S3's format of such logs."""
        log = self._folder("requests.log")
        return log.read_text().splitlines() if log.exists() else []

    def make_bucket(self, name: str) -> None:
        """Make a bucket."""
        self._folder("buckets", name).mkdir(parents=True)

    def make_older(self, bucket: str, seconds: float) -> None:
        """Make all objects of a bucket older, as if it were so much later."""
        for path in self._folder("buckets", bucket).rglob("*"):
            if path.is_file():
                written = path.stat().st_mtime - seconds
                os.utime(path, (written, written))

    def stop(self) -> None:
        """End the server, as a crash would; its objects stay."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def start(self) -> None:
        """Start the server again, at the same address.

        Raises:
            ClusterError: it does not start.
        """
        for folder in ("buckets", "metadata"):
            self._folder(folder).mkdir(exist_ok=True)
        login = [f"ROOT_ACCESS_KEY={ACCESS_KEY}", f"ROOT_SECRET_KEY={SECRET_KEY}"]
        address = ["--port", f"127.0.0.1:{self._port}", "--region", REGION, "--quiet"]
        log = ["--access-log", str(self._folder("requests.log"))]
        objects = ["posix", "--sidecar", str(self._folder("metadata")), str(self._folder("buckets"))]
        command = ["env", *login, str(self._program), *address, *log, *objects]
        deadline = time.monotonic() + _START_SECONDS
        while not self._listens():
            if time.monotonic() > deadline:
                raise ClusterError(f"the S3 server did not start:\n{self._folder('log').read_text()[-4000:]}")
            if self._process is None or self._process.ended:  # a connection of another process may have the port
                self._process = Companion(command, self._folder("log"))
            time.sleep(0.05)

    def close(self) -> None:
        """End the server, and remove what it holds."""
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

    def _folder(self, *parts: str) -> Path:
        return self._scratch.folder.joinpath(*parts)
