"""Spark's daemon that forks Python workers, with all imported that a processor needs: a worker starts at once.

Spark itself leaves imports to the workers, since libraries may start threads, which a fork does not copy. Those that
start any here, numpy and pyarrow, do without after a fork.

Spark starts the daemon once a worker is asked for. The runtime image's entrypoint starts one beside the executor's JVM
(`--listen SOCKET`), which imports meanwhile and takes over from Spark's: its streams, environment and arguments. One
that `streamapp run` starts (`--listen SOCKET PARENT`) ends if that process does before it is asked for.
"""

import gc
import json
import os
import socket
import sys
from contextlib import suppress

from streamapp_runtime.spark.daemon_names import SOCKET_VARIABLE

_REQUEST_BYTES = 1 << 20
_STREAMS = 3
_LOOK_SECONDS = 1.0


def main() -> None:
    """Fork workers until Spark ends this, or let a daemon that listens do so."""
    if sys.argv[1:2] == ["--listen"]:
        parent = int(sys.argv[3]) if len(sys.argv) > 3 else os.getppid()  # noqa: PLR2004 - two come before
        connection = _listen(sys.argv[2], parent)
        if connection is not None and _took_over(connection):
            _fork_workers()
    elif not _hand_over(os.environ.get(SOCKET_VARIABLE)):
        _import_all()
        _fork_workers()


def _listen(address: str, parent: int) -> socket.socket | None:
    """Import all, and wait until somebody connects to a socket in a file, which others can't; None: the parent ends."""
    mask = os.umask(0o077)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        os.umask(mask)
        listener.listen(1)
        _import_all()
        connection = _accept(listener, parent)
    with suppress(FileNotFoundError):
        os.unlink(address)  # noqa: PTH108 - only one takes this over
    return connection


def _accept(listener: socket.socket, parent: int) -> socket.socket | None:
    listener.settimeout(_LOOK_SECONDS)
    while os.getppid() == parent:
        with suppress(TimeoutError):
            connection, _ = listener.accept()
            connection.setblocking(True)
            return connection
    return None


def _import_all() -> None:
    """Import what a processor needs, without looking for garbage meanwhile: imports make none."""
    gc.disable()
    import pyspark.worker  # noqa: F401 - what a worker runs

    import streamapp_runtime.hosts.launched_processor
    import streamapp_runtime.spark.executor_binding
    import streamapp_runtime.spark.spark_host  # noqa: F401 - what it calls

    gc.freeze()
    gc.enable()


def _fork_workers() -> None:
    from pyspark.daemon import manager

    manager()


def _hand_over(address: str | None) -> bool:
    """Pass this process's streams to the daemon that listens, and wait for its end; return whether there was one."""
    if not address:
        return False
    started = {"arguments": sys.argv, "path": sys.path, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(address)
            socket.send_fds(connection, [json.dumps(started).encode()], list(range(_STREAMS)))
        except OSError:
            return False
        for stream in range(_STREAMS):
            os.close(stream)  # they are the other's now
        with suppress(ConnectionError):
            connection.recv(1)
    return True


def _took_over(connection: socket.socket) -> bool:
    """Become the process that has connected, which waits for the end of this one; return whether it gave all it has."""
    request, streams, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, _STREAMS)
    if not request:
        return False
    started = json.loads(request)
    for stream, given in enumerate(streams):
        os.dup2(given, stream)
        os.close(given)
    sys.argv, sys.path[:] = started["arguments"], started["path"]
    os.environ.clear()
    os.environ.update(started["environment"])
    os.chdir(started["folder"])
    os.register_at_fork(after_in_child=connection.close)
    return True


if __name__ == "__main__":
    main()
