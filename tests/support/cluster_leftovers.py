"""Traces that a cluster may leave on this machine: in the engines' lists, and in the kernel."""

from pathlib import Path

from tools.cluster.engines import engines_here

from support.waiting import eventually

_HELPERS = {"conmon", "aardvark-dns", "netavark", "kind"}
"""Programs of nodes that run outside of them."""


def left_by(cache, cluster, before):
    """Name what a cluster that was removed has left, `before` being the traces from before it was made.

    Where other clusters run too, nobody can tell whose the mounts and processes are, so those are left out.
    """
    left = []

    def nothing():
        left[:] = [*_listed(cache, cluster), *_files(cache, cluster)]
        if not _others(cache):
            left.extend(sorted(traces(cache) - before))
        return not left

    eventually(nothing)
    return left


def traces(cache):
    """Return the kernel's traces of containers: mounts, network devices, processes."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    theirs = {f"mount {path}" for path in mounts if path.startswith(("/run/", f"{cache.resolve()}/"))}
    devices = {f"network device {path.name}" for path in Path("/sys/class/net").iterdir()}
    return theirs | devices | set(_processes())


def _processes():
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, groups = (folder / "comm").read_text().strip(), (folder / "cgroup").read_text()
        except OSError:  # it has ended meanwhile
            continue
        if name in _HELPERS or "/libpod-" in groups:
            yield f"process {folder.name} ({name})"


def _listed(cache, cluster):
    for engine in engines_here(cache):
        kinds = {"node": engine.nodes(cluster), "volume": engine.volumes(cluster), "network": engine.networks(cluster)}
        yield from (f"{engine.name}: {kind} {name}" for kind, names in kinds.items() for name in names)


def _files(cache, cluster):
    return [str(path) for path in (cache / "clusters").glob(f"{cluster}/**/*")]


def _others(cache):
    return [name for engine in engines_here(cache) for name in engine.run("ps", "--all", "--quiet").split()]
