"""The manifest of a driver's pod."""

from collections.abc import Mapping
from typing import Any

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.kubernetes_names import Role, driver_account, driver_pod, driver_service
from streamapp_core.deployment.template_merge import merge_template
from streamapp_core.spec.app import StreamAppSpec
from streamapp_operator.decide.manifests.pod_parts import (
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    build_image,
    build_labels,
    build_pull_secrets,
    build_volumes,
)
from streamapp_operator.observe.resource_views import AppResource
from streamapp_systems.kubernetes.kubernetes_api import Object

_GRACE_SECONDS = 60
"""The time to drain: a final commit of every processor."""
_PORTS = {
    "spark": names.SPARK_PORT,
    "block-manager": names.BLOCK_MANAGER_PORT,
    "channel": names.CHANNEL_PORT,
    "http": names.HTTP_PORT,
}


def build_driver_pod(app: AppResource, spec: StreamAppSpec, epoch: int) -> Object:
    """Return the pod of the driver of an epoch."""
    name = app.key.name
    found, mounts = build_volumes(spec)
    container = {
        "name": names.DRIVER_CONTAINER,
        **build_image(spec),
        "command": ["python3", "-m", names.DRIVER_MODULE],
        "env": _environment(app, epoch),
        "ports": [{"name": port, "containerPort": number} for port, number in _PORTS.items()],
        "resources": {
            "requests": {"cpu": str(spec.driver.cores), "memory": spec.driver.memory},
            "limits": {"memory": spec.driver.memory},
        },
        "securityContext": RESTRICTED_CONTAINER,
        "startupProbe": _probe("/healthz", period=2, failures=90),
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        "readinessProbe": _probe("/ready", period=2, failures=3),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    ours = {
        "metadata": {},
        "spec": {
            "containers": [container],
            "volumes": found,
            "securityContext": RESTRICTED_POD,
            "imagePullSecrets": build_pull_secrets(spec),
            "terminationGracePeriodSeconds": _GRACE_SECONDS,
            "enableServiceLinks": False,
        },
    }
    return _restore_guarantees(
        merge_template(ours, spec.driver.template), app, spec, epoch, build_labels(name, Role.DRIVER, epoch)
    )


def _restore_guarantees(
    pod: dict[str, Any], app: AppResource, spec: StreamAppSpec, epoch: int, pod_labels: Mapping[str, str]
) -> Object:
    """Set again the fields that a template may not change: name, labels, owner, and that the pod starts once."""
    name = app.key.name
    metadata = pod["metadata"]
    pod["metadata"] = {
        **metadata,
        "name": driver_pod(name, epoch),
        "namespace": app.key.namespace,
        "labels": {**metadata.get("labels", {}), **pod_labels},
        "ownerReferences": [app.owner],
    }
    pod["spec"] |= {
        "hostname": driver_pod(name, epoch),
        "subdomain": driver_service(name),
        "restartPolicy": "Never",
        "serviceAccountName": spec.service_account_name or driver_account(name),
        "automountServiceAccountToken": True,
    }
    return pod


def _environment(app: AppResource, epoch: int) -> list[Mapping[str, Any]]:
    fields = {names.POD_NAME_VARIABLE: "metadata.name", names.POD_IP_VARIABLE: "status.podIP"}
    plain = {
        names.APP_VARIABLE: app.key.name,
        names.NAMESPACE_VARIABLE: app.key.namespace,
        names.EPOCH_VARIABLE: str(epoch),
    }
    return [{"name": name, "value": value} for name, value in plain.items()] + [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()
    ]


def _probe(path: str, *, period: int, failures: int) -> Mapping[str, Any]:
    request = {"path": path, "port": "http"}
    return {"httpGet": request, "periodSeconds": period, "failureThreshold": failures, "timeoutSeconds": 5}
