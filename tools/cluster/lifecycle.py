"""Makes, finds and removes clusters."""

import shutil
import time
from pathlib import Path

from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import locked
from tools.cluster.cluster import Cluster
from tools.cluster.engines import Engine, engines_here
from tools.cluster.errors import ClusterError
from tools.cluster.kind import kind_config, network_name, run_kind
from tools.cluster.process import attempt, say
from tools.cluster.ways import Way, choose_way

WORKERS = 3


def up(cache: Path, name: str, *, workers: int = WORKERS) -> Cluster:
    """Give the cluster of that name, making it if it does not run, is not whole, or is of another node image.

    Raises:
        ClusterError: no cluster can be made here; the message says what to do.
    """
    with locked(cache, f"cluster-{name}"):
        programs = kube_binaries(cache)
        way = choose_way(cache)
        found = _find(cache, name, programs)
        if found and _image_file(cache, name).read_text() == way.image:
            say(f"== cluster {name} runs already")
            return found
        _remove(cache, name)
        start = time.monotonic()
        cluster = Cluster(name=name, kubeconfig=_kubeconfig(cache, name), programs=programs, engine=way.engine)
        try:
            _create(cluster, way, workers)
            _image_file(cache, name).write_text(way.image)
        except ClusterError as error:
            logs = _save_logs(cache, cluster, way.engine)
            _remove(cache, name)
            raise ClusterError(f"{error}\nThe nodes' logs are in {logs}") from error
        say(f"== cluster {name}: {workers + 1} nodes ready after {time.monotonic() - start:.0f} s")
        return cluster


def down(cache: Path, name: str) -> None:
    """Remove a cluster with all it holds, or what an interrupted `up` left of it; nothing to do is fine.

    Raises:
        ClusterError: something could not be removed.
    """
    with locked(cache, f"cluster-{name}"):
        _remove(cache, name)


def running(cache: Path, name: str) -> Cluster | None:
    """Give the cluster of that name if it runs and is whole."""
    return _find(cache, name, kube_binaries(cache)) if _image_file(cache, name).exists() else None


def given(cache: Path, kubeconfig: Path) -> Cluster:
    """Give the cluster of a kubeconfig: one that `up` has made, or the user's own, whose nodes we have no hold of."""
    name = kubeconfig.parent.name
    ours = running(cache, name) if kubeconfig.resolve() == _kubeconfig(cache, name).resolve() else None
    return ours or Cluster(name="given", kubeconfig=kubeconfig, programs=kube_binaries(cache))


def _find(cache: Path, name: str, programs: Path) -> Cluster | None:
    kubeconfig = _kubeconfig(cache, name)
    if not _image_file(cache, name).exists():
        return None
    for engine in engines_here(cache):
        if engine.nodes(name):
            cluster = Cluster(name=name, kubeconfig=kubeconfig, programs=programs, engine=engine)
            return cluster if cluster.is_ready() else None
    return None


def _create(cluster: Cluster, way: Way, workers: int) -> None:
    if way.engine.own_store:
        way.engine.run("network", "create", network_name(cluster.name))  # kind's own would have IPv6 first
    cluster.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
    config = kind_config(workers=workers, repository=way.repository)
    target = ["--image", way.image, "--kubeconfig", str(cluster.kubeconfig)]
    create = ["create", "cluster", "--retain", "--config=-", *target]
    run_kind(way.engine, cluster.programs, cluster.name, *create, text=config)
    cluster.wait_until_ready()


def _save_logs(cache: Path, cluster: Cluster, engine: Engine) -> Path:
    logs = cache / "clusters" / f"{cluster.name}-logs"
    shutil.rmtree(logs, ignore_errors=True)
    try:
        run_kind(engine, cluster.programs, cluster.name, "export", "logs", str(logs))
    except ClusterError as error:
        say(f"   the nodes' logs could not be saved: {error}")
    return logs


def _remove(cache: Path, name: str) -> None:
    for engine in engines_here(cache):
        nodes = engine.nodes(name)
        if nodes:
            attempt([engine.program, "kill", *nodes], env=engine.environment)  # else kind waits for systemd to end
            kubeconfig = str(_kubeconfig(cache, name))
            run_kind(engine, kube_binaries(cache), name, "delete", "cluster", "--kubeconfig", kubeconfig)
        if engine.own_store:
            engine.own_store.clean(network_name(name), label_prefix=f"{name}-")
    shutil.rmtree(_kubeconfig(cache, name).parent, ignore_errors=True)


def _kubeconfig(cache: Path, name: str) -> Path:
    return cache / "clusters" / name / "kubeconfig"


def _image_file(cache: Path, name: str) -> Path:
    """The file that says which node image the cluster runs; it is written when the cluster is ready."""
    return _kubeconfig(cache, name).with_name("image")
