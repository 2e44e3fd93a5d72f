"""The NetworkPolicy of an app's pods: who may connect to them. Where they may connect to is left open."""

import json
from typing import Any

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.app_record import digest
from streamapp_core.deployment.kubernetes_names import Role, network_policy
from streamapp_operator.observe.observed_state import AppNetwork
from streamapp_operator.observe.resource_views import AppResource
from streamapp_systems.kubernetes.kubernetes_api import Object


def build_network_policy(app: AppResource, network: AppNetwork) -> Object:
    """Return the policy that lets an app's pods reach each other, and others the driver's pages at the most.

    Kubelets, which probe, always reach the pods of their nodes. Without isolation everybody reaches all of them: such a
    policy takes the place of a stricter one, which nobody else would remove.
    """
    spec = _isolated(app.key.name, network) if network.isolated else _open(app.key.name)
    return {
        "metadata": {
            "name": network_policy(app.key.name),
            "namespace": app.key.namespace,
            "labels": {names.APP_LABEL: app.key.name},
            # By it equal rules are known: the API server adds defaults to what it stores.
            "annotations": {names.DIGEST_ANNOTATION: digest(json.dumps(spec, sort_keys=True))},
            "ownerReferences": [app.owner],
        },
        "spec": spec,
    }


def _isolated(app: str, network: AppNetwork) -> dict[str, Any]:
    pages: dict[str, Any] = {"ports": [{"port": names.HTTP_PORT, "protocol": "TCP"}]}
    if network.pages_from:
        pages["from"] = list(network.pages_from)
    return {
        "podSelector": _pods_of(app),
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": _pods_of(app)}]}, pages],
    }


def _open(app: str) -> dict[str, Any]:
    return {"podSelector": _pods_of(app), "policyTypes": ["Ingress"], "ingress": [{}]}


def _pods_of(app: str) -> dict[str, Any]:
    return {
        "matchLabels": {names.APP_LABEL: app},
        "matchExpressions": [
            {"key": names.ROLE_LABEL, "operator": "In", "values": [Role.DRIVER.value, Role.PROCESSOR.value]}
        ],
    }
