"""The processes of this machine, as far as tests must find them."""

from pathlib import Path


def python_workers(root: int) -> list[int]:
    """Find Spark's Python workers (and their daemons) that descend from a process."""
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

    return [pid for pid, (_, command) in parents.items() if b"pyspark.daemon" in command and descends(pid)]
