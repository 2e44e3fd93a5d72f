"""What a driver needs besides its pod: an account that may make executors, and a host name."""

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.kubernetes_names import APP_LABEL, Role, driver_account, driver_service
from streamapp_operator.decide.manifests.pod_parts import labels
from streamapp_operator.observe.observed_state import Bound
from streamapp_operator.observe.resource_views import AppResource
from streamapp_systems.kubernetes.kubernetes_api import Object


def account_manifest(app: AppResource) -> Object:
    """Describe the account of an app's drivers."""
    return {"metadata": _metadata(app, driver_account(app.key.name)), "automountServiceAccountToken": False}


def binding_manifest(app: AppResource, bound: Bound) -> Object:
    """Give the account of an app's drivers the role of drivers."""
    return {
        "metadata": _metadata(app, driver_account(app.key.name)),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": bound.role.kind, "name": bound.role.name},
        "subjects": [{"kind": "ServiceAccount", "name": bound.account, "namespace": app.key.namespace}],
    }


def service_manifest(app: AppResource) -> Object:
    """Describe the headless Service that gives every driver of an app a host name, before it is ready too."""
    ports = {"spark": names.SPARK_PORT, "channel": names.CHANNEL_PORT, "http": names.HTTP_PORT}
    return {
        "metadata": _metadata(app, driver_service(app.key.name)),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": labels(app.key.name, Role.DRIVER),
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
