"""Manifests of what a driver needs besides its pod: an account that may create executors, and a host name."""

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.kubernetes_names import APP_LABEL, Role, driver_account, driver_service
from streamapp_operator.decide.manifests.pod_parts import build_labels
from streamapp_operator.observe.observed_state import DriverBinding
from streamapp_operator.observe.resource_views import AppResource
from streamapp_systems.kubernetes.kubernetes_api import Object


def build_service_account(app: AppResource) -> Object:
    """Return the ServiceAccount of an app's drivers."""
    return {"metadata": _metadata(app, driver_account(app.key.name)), "automountServiceAccountToken": False}


def build_role_binding(app: AppResource, binding: DriverBinding) -> Object:
    """Return the RoleBinding that gives an app's drivers their role."""
    return {
        "metadata": _metadata(app, driver_account(app.key.name)),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": binding.role.kind, "name": binding.role.name},
        "subjects": [{"kind": "ServiceAccount", "name": binding.account, "namespace": app.key.namespace}],
    }


def build_driver_service(app: AppResource) -> Object:
    """Return the headless Service that gives every driver of an app a host name, even before it is ready."""
    ports = {"spark": names.SPARK_PORT, "channel": names.CHANNEL_PORT, "http": names.HTTP_PORT}
    return {
        "metadata": _metadata(app, driver_service(app.key.name)),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": build_labels(app.key.name, Role.DRIVER),
            "ports": [{"name": name, "port": port, "targetPort": port} for name, port in ports.items()],
        },
    }


def _metadata(app: AppResource, name: str) -> Object:
    return {
        "name": name,
        "namespace": app.key.namespace,
        "labels": {APP_LABEL: app.key.name},
        "ownerReferences": [app.owner],
    }
