"""The processes of this machine, as far as tests must find them."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from random import Random

from support.waiting import eventually


def python_workers(root: int) -> list[int]:
    """Find Spark's Python workers (and their daemons) that descend from a process."""
    return _forked_by_spark(descendants(root))


def workers_of(root: int) -> list[int]:
    """Find the processes below a driver in which processors run, whatever its host."""
    found = descendants(root)
    return _forked_by_spark(found) or [pid for pid, command in found.items() if b"hosts.worker" in command]


def _forked_by_spark(found: dict[int, bytes]) -> list[int]:
    """Find the daemons and what they have forked; the JVM has the daemon's name among its settings, too."""
    return [pid for pid, command in found.items() if b"-m\0streamapp_runtime.spark.worker_daemon" in command]


def kill_worker(root: int, random: Random) -> None:
    """Kill one of the processes in which a driver's processors run; if it is about to start them, wait for them."""
    found = eventually(lambda: workers_of(root))
    assert found, "no processor started"
    kill(random.sample(found, 1))


def executors_of(root: int) -> list[int]:
    """Find the JVMs below a driver that are executors of Spark."""
    return [pid for pid, command in descendants(root).items() if b"CoarseGrainedExecutorBackend" in command]


def kill(pids: Iterable[int]) -> None:
    """Kill processes, those that are still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def descendants(root: int) -> dict[int, bytes]:
    """Find the processes that descend from one, with their command lines."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            parents[int(status.parent.name)] = (parent, (status.parent / "cmdline").read_bytes())
        except OSError:
            continue

    def descends(pid: int) -> bool:
        while pid in parents and pid != root:
            pid = parents[pid][0]
        return pid == root

    return {pid: command for pid, (_, command) in parents.items() if pid != root and descends(pid)}


def resident_bytes(root: int) -> int:
    """Add up the memory that a process and its descendants hold; what they share counts for each."""
    pages = 0
    for pid in [root, *descendants(root)]:
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")
