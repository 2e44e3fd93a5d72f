"""The JVM of a driver, started as soon as the driver's program: it needs as long as all imports of Python do.

PySpark starts one by a script and two JVMs, one after the other, once it knows the app's properties; of these, the JVM
itself needs none. This module imports nothing that takes time.
"""

import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO

from streamapp_runtime.spark.pod_memory import HEAP_MEBIBYTES
from streamapp_runtime.spark.spark_logging import write_log_settings

_ARCHIVES_VARIABLE = "STREAMAPP_CLASS_ARCHIVES"
_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_CONNECTION_VARIABLE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_START_SECONDS = 120.0
_LOOK_SECONDS = 0.01
_NUMBERS = struct.Struct("!ii")
"""The port, and the length of the secret that follows."""


class DriverJvm:
    """A JVM that waits for PySpark to connect, and ends with this process."""

    def __init__(
        self,
        archives: Path,
        *,
        java: str = "java",
        heap: int = HEAP_MEBIBYTES,
        folder: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        output: IO[bytes] | None = None,
    ) -> None:
        """Start it with the options, the class path and the archived classes in a folder.

        `heap` is the limit of its memory in MiB. It keeps files in a `folder` (None: a temporary one), has an
        `environment` above that of this process, and writes to `output` (None: where this process does).
        """
        folder = folder or Path(tempfile.mkdtemp(prefix="streamapp-"))
        self._connection = folder / "connection"
        environment = {
            **os.environ,
            **environment,
            "SPARK_CONNECT_MODE": "0",
            "SPARK_LOCAL_IP": "127.0.0.1",  # where its pages listen: they have no login
            _CONNECTION_VARIABLE: str(self._connection),
        }
        self._process = subprocess.Popen(  # noqa: S603 - the Java that the archives are of
            [
                java,
                f"@{archives / 'driver.options'}",
                f"-XX:SharedArchiveFile={archives / 'driver.jsa'}",
                f"-Xmx{heap}m",
                f"-Dlog4j2.configurationFile={write_log_settings(folder).as_uri()}",
                _GATEWAY,
            ],
            stdin=subprocess.PIPE,  # it ends when this is closed
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,  # signals are for the driver's program
        )

    @contextmanager
    def offered(self) -> Iterator[None]:
        """Make PySpark connect to this JVM instead of one of its own.

        Raises:
            OSError: it has not started.
        """
        port, secret = self._await_connection()
        found = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        os.environ |= found
        try:
            yield
        finally:
            for variable in found:
                del os.environ[variable]

    def kill(self) -> None:
        """End it at once: its executors see that, and end, too."""
        self._process.kill()
        with self._process:  # waits, and closes what it has read from
            pass

    def _await_connection(self) -> tuple[int, str]:
        until = time.monotonic() + _START_SECONDS
        while not self._connection.exists():
            if self._process.poll() is not None or time.monotonic() > until:
                raise OSError("Java has not started; its log says why")
            time.sleep(_LOOK_SECONDS)
        encoded = self._connection.read_bytes()
        port, length = _NUMBERS.unpack_from(encoded)
        return port, encoded[_NUMBERS.size : _NUMBERS.size + length].decode()


def start_archived(environment: Mapping[str, str]) -> DriverJvm | None:
    """Start the JVM of an image that has archived classes; None: PySpark starts one, later."""
    archives = environment.get(_ARCHIVES_VARIABLE)
    return DriverJvm(Path(archives)) if archives else None
