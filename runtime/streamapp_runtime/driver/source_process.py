"""A job of Spark that reads a source, in a process and a JVM of its own: the processors' Spark has no slot for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from streamapp_runtime.threads import Event
from streamapp_systems.protocols import StreamSystemError

_PROGRAM = "streamapp_runtime.spark.read_source"
_LOOK_SECONDS = 0.1
_GATEWAY = "PYSPARK_GATEWAY_"
"""Variables by which spark-submit has a program use the JVM that runs already: that of the processors."""


class SourceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to read a source, and to write Parquet files of it to a `folder`, which is not there yet.

    `system` is the system of the spec as JSON, `address` the stream's name in it, `schema` the columns that are read,
    `properties` are those of Spark. Files are of `partitions`, by the `key` if there is one. Of an incremental source
    rows are read whose value is larger than `above` and not larger than `up_to`, as texts that Spark casts, and in
    their order.
    """

    system: str
    address: str
    schema: str
    properties: dict[str, str]
    folder: str
    partitions: int
    key: tuple[str, ...] = ()
    above: str | None = None
    up_to: str | None = None


class SourceOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a job; `failure`: why it has read nothing."""

    failure: str | None = None


class Stopped(Exception):  # noqa: N818 - what happened
    """The job was stopped, as its driver ends."""


def run_source(request: SourceRequest, folder: Path, stopping: Event) -> None:
    """Run a job to its end, in a folder from which its relative paths resolve; it ends with this process, too.

    Raises:
        StreamSystemError: it has failed; the message says why.
        Stopped: `stopping` was set before.
    """
    with TemporaryDirectory(prefix="streamapp-") as work:
        outcome, log = Path(work) / "outcome.json", Path(work) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", _PROGRAM, str(outcome)],
                stdin=subprocess.PIPE,  # it ends when this is closed
                stdout=output,
                stderr=output,
                env={name: value for name, value in os.environ.items() if not name.startswith(_GATEWAY)},
                cwd=folder if folder.is_dir() else None,
                start_new_session=True,
            )
            try:
                _send(process, request)
                _await_end(process, stopping)
            finally:
                _kill(process)
        if not outcome.is_file():
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise StreamSystemError(f"Spark has died (exit code {process.returncode}): {last}")
        failure = msgspec.json.decode(outcome.read_bytes(), type=SourceOutcome).failure
    if failure is not None:
        raise StreamSystemError(failure)


def _send(process: "subprocess.Popen[bytes]", request: SourceRequest) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return  # it has died, and its output says why


def _await_end(process: "subprocess.Popen[bytes]", stopping: Event) -> None:
    while process.poll() is None:
        if stopping.wait(_LOOK_SECONDS):
            raise Stopped


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process with its JVM, if they are still there."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
