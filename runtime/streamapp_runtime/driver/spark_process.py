"""Programs of Spark beside the driver, each with a JVM of its own: in that of the processors all slots are taken."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from streamapp_runtime.threads import Event

_LOOK_SECONDS = 0.1
_GATEWAY = "PYSPARK_GATEWAY_"
"""Variables by which spark-submit has a program use the JVM that runs already: that of the processors."""


class Stopped(Exception):  # noqa: N818 - what happened
    """The program was stopped, as its driver ends."""


class SparkProgram:
    """A program that does requests, one after the other: `with SparkProgram(...) as program: program.run(...)`.

    It is started with the first request, and again where it has died. It reads requests as lines from its standard
    input, and replaces the file that its argument names, the outcome, whenever there is more to say of one. It ends
    when its input does, and so with this process.
    """

    def __init__(self, module: str, folder: Path) -> None:
        """Start nothing yet; relative paths resolve from the folder, and `module` is one of ours."""
        self._module, self._folder = module, folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._work = TemporaryDirectory(prefix="streamapp-")
        self._outcome, self._log = Path(self._work.name) / "outcome.json", Path(self._work.name) / "log"
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._work.cleanup()

    def run(self, request: bytes, stopping: Event, look: Callable[[bytes], bool]) -> str | None:
        """Do a request: `look` gets its outcome, again and again, and says whether that was all of it.

        Return how the program died before that; None: it did not.

        Raises:
            Stopped: `stopping` was set before.
        """
        self._outcome.unlink(missing_ok=True)
        process = self._started()
        self._send(process, request)
        while True:
            died = process.poll() is not None
            if self._outcome.is_file() and look(self._outcome.read_bytes()):
                return None
            if died:
                last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
                return f"Spark has died (exit code {process.returncode}): {last}"
            if stopping.wait(_LOOK_SECONDS):
                raise Stopped

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            os.truncate(self._log, 0)
            return self._process
        self._kill()
        self._log.unlink(missing_ok=True)
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", self._module, str(self._outcome)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={name: value for name, value in os.environ.items() if not name.startswith(_GATEWAY)},
                cwd=self._folder if self._folder.is_dir() else None,
                start_new_session=True,
            )
        return self._process

    def _send(self, process: "subprocess.Popen[bytes]", request: bytes) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(request + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return  # it has died, and its output says why

    def _kill(self) -> None:
        """Kill the process with its JVM, if they are still there."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._process = None
