"""Makes, finds and removes clusters."""

import shutil
import time
from contextlib import suppress
from pathlib import Path

from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import locked
from tools.cluster.check import missing
from tools.cluster.cluster import Cluster
from tools.cluster.engines import Engine, engines_here
from tools.cluster.errors import ClusterError
from tools.cluster.kind import kind_config, run_kind
from tools.cluster.process import say
from tools.cluster.ways import Way, choose_way, possible_images

WORKERS = 3


def up(cache: Path, name: str, *, workers: int = WORKERS) -> Cluster:
    """Return the cluster of that name, making it if it does not run, is not whole, or is of another node image.

    Raises:
        ClusterError: no cluster can be made here; the message says what to do.
    """
    _check_machine()
    with locked(cache, f"cluster-{name}"):
        programs = kube_binaries(cache)
        found = _find(cache, name, programs)
        if found:
            image = _image_file(cache, name).read_text()
            if image in possible_images(cache):
                say(f"== cluster {name} runs already, with nodes of {image.partition('@')[0]}")
                return found
            say(f"== cluster {name} is rebuilt: its nodes are of {image}, which is not what this checkout wants")
        _remove(cache, name)
        way = choose_way(cache)
        shutil.rmtree(_logs(cache, name), ignore_errors=True)
        start = time.monotonic()
        cluster = _cluster(cache, name, programs, way.engine)
        try:
            _create(cluster, way, workers)
            _image_file(cache, name).write_text(way.image)
        except ClusterError as error:
            _save_logs(cache, cluster, way.engine)
            _remove(cache, name)
            raise ClusterError(f"{error}\nThe nodes' logs are in {_logs(cache, name)}") from error
        except KeyboardInterrupt:
            _remove(cache, name)
            raise
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
    """Return the cluster of that name if it runs and is whole."""
    return _find(cache, name, kube_binaries(cache)) if _image_file(cache, name).exists() else None


def given(cache: Path, kubeconfig: Path) -> Cluster:
    """Return the cluster of a kubeconfig: one that `up` has made, or the user's own, whose nodes we have no hold of.

    Raises:
        ClusterError: there is no such file, or no kubectl can be made.
    """
    if not kubeconfig.is_file():
        raise ClusterError(f"KUBECONFIG must name one file, and there is no {kubeconfig}")
    name = kubeconfig.parent.name
    ours = running(cache, name) if kubeconfig.resolve() == _kubeconfig(cache, name).resolve() else None
    return ours or Cluster(name="given", kubeconfig=kubeconfig, programs=kube_binaries(cache))


def _check_machine() -> None:
    """See that a cluster can be made before anything costly is.

    Raises:
        ClusterError: something is missing.
    """
    lacking = missing()
    if lacking:
        raise ClusterError("\n".join(map(str, lacking)))


def _find(cache: Path, name: str, programs: Path) -> Cluster | None:
    if not _image_file(cache, name).exists():
        return None
    for engine in engines_here(cache):
        if engine.nodes(name):
            cluster = _cluster(cache, name, programs, engine)
            return cluster if cluster.is_ready() else None
    return None


def _cluster(cache: Path, name: str, programs: Path, engine: Engine) -> Cluster:
    kubeconfig = _kubeconfig(cache, name)
    learnt = kubeconfig.with_name("api-cache")
    return Cluster(name=name, kubeconfig=kubeconfig, programs=programs, engine=engine, api_cache=learnt)


def _create(cluster: Cluster, way: Way, workers: int) -> None:
    if way.engine.own_store:
        way.engine.run("network", "create", way.engine.network_name(cluster.name))  # kind's own would have IPv6 first
    cluster.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
    config = kind_config(workers=workers, repository=way.repository)
    target = ["--image", way.image, "--kubeconfig", str(cluster.kubeconfig)]
    create = ["create", "cluster", "--retain", "--config=-", *target]
    run_kind(way.engine, cluster.programs, cluster.name, *create, text=config)
    cluster.wait_until_ready()


def _save_logs(cache: Path, cluster: Cluster, engine: Engine) -> None:
    with suppress(ClusterError):  # self-built nodes lack a program for some of them, and nodes may not run
        run_kind(engine, cluster.programs, cluster.name, "export", "logs", str(_logs(cache, cluster.name)))


def _logs(cache: Path, name: str) -> Path:
    """The nodes' logs of a start that failed; they stay until the next one."""
    return cache / "clusters" / f"{name}-logs"


def _remove(cache: Path, name: str) -> None:
    for engine in engines_here(cache):
        engine.remove(name)
    shutil.rmtree(_kubeconfig(cache, name).parent, ignore_errors=True)


def _kubeconfig(cache: Path, name: str) -> Path:
    return cache / "clusters" / name / "kubeconfig"


def _image_file(cache: Path, name: str) -> Path:
    """The file that says which node image the cluster runs; it is written when the cluster is ready."""
    return _kubeconfig(cache, name).with_name("image")
