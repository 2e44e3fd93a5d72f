"""The slow parts of a local Spark, a JVM and a daemon of workers, started beside the imports and the plan of its app.

This module imports nothing that takes time.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from streamapp_runtime.spark.class_archive import OPTIONS, archive_folder, find_java
from streamapp_runtime.spark.daemon_names import SOCKET_VARIABLE, WORKER_DAEMON
from streamapp_runtime.spark.driver_jvm import DriverJvm

_HEAP_MEBIBYTES = 1_024


class EarlyStart:
    """A JVM that waits for PySpark to connect, and a daemon that waits for Spark; both end with this process."""

    def __init__(self, java: Path, archive: Path, log: Path) -> None:
        """Start them by a program for Java and the folder of its archive; what they log goes to a file.

        Raises:
            OSError: the log can't be written, or a program can't be started.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="streamapp-"))
        self._taken = False
        address = self._folder / "worker-daemon"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            self._jvm = DriverJvm(
                archive,
                java=str(java),
                heap=_HEAP_MEBIBYTES,
                folder=self._folder,
                environment={SOCKET_VARIABLE: str(address)},
                output=file,
            )
            self._daemon = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", WORKER_DAEMON, "--listen", str(address), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")},  # Spark's seed
                process_group=0,  # signals are for the driver's program; no session, which Spark's daemon can't lead
            )
        self._address = address

    @contextmanager
    def offered(self) -> Iterator[None]:
        """Make PySpark connect to the JVM; if that has not started, PySpark starts one of its own."""
        with ExitStack() as stack:
            with suppress(OSError):
                stack.enter_context(self._jvm.offered())
                self._taken = True
            yield

    def end(self) -> None:
        """End what is not used; a JVM that PySpark has connected to ends with this process."""
        if not self._taken:
            self._jvm.kill()
        if self._address.exists() or not self._taken:
            self._daemon.kill()
            self._daemon.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def start_early(environment: Mapping[str, str], log: Path) -> EarlyStart | None:
    """Start them where an archive has been made; None: PySpark starts a JVM of its own, later."""
    folder, java = archive_folder(environment), find_java(environment)
    if folder is None or java is None or not (folder / OPTIONS).is_file():
        return None
    with suppress(OSError):  # whoever needs the log's folder says what is wrong with it
        (folder / OPTIONS).touch()  # it is in use
        return EarlyStart(java, folder, log)
    return None
