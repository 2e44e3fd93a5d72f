"""The settings of Spark on Kubernetes, with an executor for each processor, made from the spec."""

from pathlib import Path

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.errors import NotSupported
from streamapp_runtime.spark.app_properties import app_properties
from streamapp_runtime.spark.daemon_names import WORKER_DAEMON
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_runtime.spark.pod_memory import HEAP_MEBIBYTES, overhead

_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVMs only hold the workers: rows never pass through them."""

_FIXED_SETTINGS = {
    "spark.master": "k8s://https://kubernetes.default.svc",
    "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 - the pod's address, under the driver's host name
    "spark.dynamicAllocation.enabled": "false",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.executor.failuresValidityInterval": "10m",
    "spark.executor.maxNumFailures": "1000000",
    "spark.kubernetes.allocation.batch.delay": "200ms",
    "spark.kubernetes.allocation.batch.size": "50",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",  # not Spark's to delete
    "spark.kubernetes.executor.deleteOnTermination": "true",
    "spark.kubernetes.executor.disableConfigMap": "true",  # the image has Spark's files; nobody would own it
    "spark.network.timeoutInterval": "15s",
    "spark.python.daemon.module": WORKER_DAEMON,
    "spark.python.task.killTimeout": "500ms",
    "spark.python.worker.reuse": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "0",  # processors wait for their executors, Spark need not
    "spark.speculation": "false",
    "spark.task.maxFailures": "1",
    "spark.ui.showConsoleProgress": "false",
}
"""The settings that are the same for every app."""

_DEFAULTS = {
    "spark.executor.heartbeatInterval": "5s",
    "spark.locality.wait": "30s",
    "spark.network.timeout": "45s",
}
"""The settings that an app may have otherwise."""

_CLAIM = f"spark.kubernetes.executor.volumes.persistentVolumeClaim.{names.STATE_VOLUME}"


def kubernetes_settings(
    app: StreamApp, environment: DriverEnvironment, processors: int, template: Path, log4j: Path
) -> dict[str, str]:
    """Return all settings; executors are made from the pod `template`, one slot each.

    Spark replaces every executor that dies, without a limit, but never retries a job: the driver decides that.

    Raises:
        NotSupported: state on volume claims without a storage class.
        RuntimeFailure: the folder of the event log can't be made.
    """
    spec = app.spec
    settings = (
        _DEFAULTS
        | app_properties(spec, Path(names.APP_FOLDER))
        | _FIXED_SETTINGS
        | {
            "spark.app.name": environment.app,
            "spark.driver.host": environment.host,
            "spark.driver.port": str(names.SPARK_PORT),
            "spark.driver.blockManager.port": str(names.BLOCK_MANAGER_PORT),
            "spark.driver.memory": f"{HEAP_MEBIBYTES}m",
            "spark.driver.extraJavaOptions": f"{_JAVA} -Dlog4j2.configurationFile={log4j.as_uri()}",
            "spark.executor.instances": str(processors),
            "spark.executor.memory": f"{HEAP_MEBIBYTES}m",
            "spark.executor.memoryOverhead": f"{overhead(spec.processors.memory)}m",
            "spark.kubernetes.container.image": spec.image or "",
            "spark.kubernetes.executor.podNamePrefix": names.executor_prefix(environment.app, environment.epoch),
            "spark.kubernetes.executor.podTemplateContainerName": names.PROCESSOR_CONTAINER,
            "spark.kubernetes.executor.podTemplateFile": str(template),
            "spark.kubernetes.executor.request.cores": str(spec.processors.cores),
            "spark.kubernetes.namespace": environment.namespace,
        }
    )
    if spec.image_pull_policy is not None:
        settings["spark.kubernetes.container.image.pullPolicy"] = spec.image_pull_policy.value
    return settings | _claims(app, environment)


def _claims(app: StreamApp, environment: DriverEnvironment) -> dict[str, str]:
    """Return the settings with which Spark makes a claim per executor, which later executors of the app reuse.

    The claims' owner is the driver's pod, by its name.
    """
    claim = app.spec.processors.state.volume_claim
    if claim is None:
        return {}
    if claim.storage_class_name is None:
        raise NotSupported(
            "spec.processors.state.volumeClaim: Spark makes claims only of a storage class that is named: set "
            "storageClassName"
        )
    return {
        f"{_CLAIM}.options.claimName": "OnDemand",
        f"{_CLAIM}.options.sizeLimit": claim.size,
        f"{_CLAIM}.label.{names.APP_LABEL}": app.metadata.name,
        f"{_CLAIM}.mount.path": names.STATE_FOLDER,
        "spark.kubernetes.allocation.executor.timeout": "45s",  # no younger claim is reused; pods are listed each 30 s
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "true",
        "spark.kubernetes.driver.pod.name": environment.pod,
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "true",
        "spark.kubernetes.driver.waitToReusePersistentVolumeClaim": "true",  # rather than to make another one at once
        f"{_CLAIM}.options.storageClass": claim.storage_class_name,
    }
