"""Settings of Spark that are right on a laptop, but not in the pods that the Kubernetes operator makes."""

from collections.abc import Iterator, Mapping
from typing import Any

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.memory_quantities import mebibytes
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.spark_settings import EventLog, SparkUi

_PORTS = (names.SPARK_PORT, names.BLOCK_MANAGER_PORT, names.CHANNEL_PORT, names.HTTP_PORT)
_DRIVER, _PROGRAM = 1_024, 1_536
"""MiB of a driver, and of each program of Spark that it has beside it: one that reads sources, one that writes."""


def find_local_settings(spec: StreamAppSpec) -> Iterator[Problem]:
    """Find the settings that pods can't have.

    These are jars from a repository, a port that is taken, a folder that ends with its pod, claims of no storage class,
    and a driver without memory for the jobs that read sources and write outputs.
    """
    claim = spec.processors.state.volume_claim
    if claim is not None and claim.storage_class_name is None:
        yield _problem(
            "spec.processors.state.volumeClaim",
            "Spark makes claims only of a storage class that is named: set `storageClassName`, to what `kubectl get "
            "storageclass` marks as the default, for example",
        )
    yield from _check_memory(spec)
    if spec.spark is None:
        return
    if spec.spark.packages:
        yield _problem(
            "spec.spark.packages",
            "pods load no jars from repositories: they would need the internet at each start, and get what is there "
            "then. Put the jars into the image, in the folder `jars` of `SPARK_HOME` (docs/images.md)",
        )
    if spec.spark.ui is not None:
        yield from _check_port(spec.spark.ui)
    if spec.spark.event_log is not None:
        yield from _check_folder(spec.spark.event_log, spec.driver.template)


def _check_memory(spec: StreamAppSpec) -> Iterator[Problem]:
    """Find a driver without memory for the programs of Spark beside it."""
    written = {operator.send_to for operator in spec.operators}
    programs: dict[bool, str] = {}
    for name, stream in spec.streams.items():
        system = spec.systems.get(stream.system)
        if system is not None and system.spark is not None:
            programs[name in written] = stream.system
    needed = _DRIVER + _PROGRAM * len(programs)
    if programs and mebibytes(spec.driver.memory) < needed:
        does = {False: "reads", True: "writes"}
        told = " and ".join(f"{does[writes]} system `{name}`" for writes, name in sorted(programs.items()))
        yield _problem(
            "spec.driver.memory",
            f"Spark {told} in the driver's pod, each in a JVM with a heap of 1 GiB: set it to {needed}Mi or more, not "
            f"{spec.driver.memory}",
        )


def _check_port(ui: SparkUi) -> Iterator[Problem]:
    if ui.port in _PORTS:
        taken = ", ".join(map(str, _PORTS))
        yield _problem("spec.spark.ui.port", f"the driver listens there already; take another port than {taken}")


def _check_folder(log: EventLog, template: Mapping[str, Any]) -> Iterator[Problem]:
    folder = log.path
    if folder is None:
        return
    if ".." in _steps(folder) or not any(_is_in(folder, path) for path in _find_mounts(template)):
        yield _problem(
            "spec.spark.eventLog.dir",
            f"{folder} would end with the driver's pod: take a folder that `spec.driver.template` mounts a volume at, "
            "in `volumeMounts` of its container `driver`, or the URI of a store",
        )


def _find_mounts(template: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the driver's container has volumes of its template that outlive a pod."""
    spec = _map(template.get("spec"))
    lasting = {volume.get("name") for volume in _maps(spec.get("volumes")) if "emptyDir" not in volume}
    for container in _maps(spec.get("containers")):
        if container.get("name") == names.DRIVER_CONTAINER:
            for mount in _maps(container.get("volumeMounts")):
                path = mount.get("mountPath")
                if isinstance(path, str) and mount.get("name") in lasting and not mount.get("readOnly"):
                    yield path


def _is_in(folder: str, mount: str) -> bool:
    return folder.startswith("/") and _steps(folder)[: len(_steps(mount))] == _steps(mount)


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _maps(value: object) -> list[Mapping[str, Any]]:
    """Return the entries of a list that are maps; Kubernetes refuses all others."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _problem(path: str, message: str) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message)
