"""Runs of the command line in processes of their own, forked from one that has imported all they need: half of a short
run's CPU time is imports.

This file is also the program of the server that forks. It has no threads, never runs an app itself, and ends with the
process that asks it.
"""

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_IMPORTED = ("streamapp_cli.main", "streamapp_cli.run_command", "streamapp_runtime.spark.spark_host")
_NUMBER = struct.Struct("!q")
_REQUEST_BYTES = 1 << 17


class ForkedRun:
    """A run of `streamapp` in a process group of its own, with what `subprocess.Popen` has."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str], output: int | None = None) -> None:
        """Start it. Its output and its errors go to a file that is open, else they wait for `communicate`."""
        ends, status = os.pipe()
        self._status = os.fdopen(ends, "rb", buffering=0)
        read, written = (None, os.dup(output)) if output is not None else os.pipe()
        self._output = read
        request = {"arguments": arguments, "environment": dict(environment), "folder": os.getcwd()}  # noqa: PTH109
        socket.send_fds(_server(), [json.dumps(request).encode()], [status, written])
        os.close(status)
        os.close(written)
        self.pid = self._read_number()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, as `subprocess` has it; None while the process runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = self._read_number()
            self._status.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code.

        Raises:
            TimeoutExpired: it runs for longer.
        """
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("streamapp", timeout)
        return self.poll()

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for the end and return what was printed; see `wait`."""
        printed, deadline = [], None if timeout is None else time.monotonic() + timeout
        while self._output is not None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._output], [], [], left)[0]:
                raise subprocess.TimeoutExpired("streamapp", timeout)
            if not (some := os.read(self._output, 1 << 16)):
                os.close(self._output)
                self._output = None
            printed.append(some)
        self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return b"".join(printed).decode(), None

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def _read_number(self) -> int:
        found = self._status.read(_NUMBER.size)
        assert found, "the server of forked runs is gone"
        return _NUMBER.unpack(found)[0]


@cache
def _server() -> socket.socket:
    """Start the server of this process; it ends with our end of the socket."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        server = subprocess.Popen(
            [sys.executable, str(Path(__file__).absolute()), str(its.fileno())],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork a run for each request, and say how it has ended; in a run's process, run it."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    waiting = select.poll()
    waiting.register(requests, select.POLLIN)
    running: dict[int, tuple[int, int]] = {}
    while True:
        for ready, _ in waiting.poll():
            if ready != requests.fileno():
                waiting.unregister(ready)
                _tell_end(ready, *running.pop(ready))
                continue
            request, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 2)
            if not request:
                return
            pid = os.fork()
            if pid == 0:
                _run(descriptors[1], **json.loads(request))
                return
            os.close(descriptors[1])
            os.write(descriptors[0], _NUMBER.pack(pid))
            process = os.pidfd_open(pid)
            running[process] = pid, descriptors[0]
            waiting.register(process, select.POLLIN)


def _tell_end(process: int, pid: int, status: int) -> None:
    _, code = os.waitpid(pid, 0)
    os.write(status, _NUMBER.pack(os.waitstatus_to_exitcode(code)))
    os.close(status)
    os.close(process)


def _run(output: int, *, arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Run the command line in this process as in a new one; it ends the process as it does there."""
    from streamapp_cli.main import main
    from streamapp_runtime import fail_points

    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    fail_points.arm(os.environ.get(fail_points.VARIABLE, ""))
    sys.argv = ["streamapp", *arguments]
    sys.path[0] = ""
    gc.unfreeze()
    main()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
