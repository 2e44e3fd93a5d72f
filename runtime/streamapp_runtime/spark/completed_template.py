"""The pod template of executors, as the Kubernetes operator wrote it, with what only their driver knows."""

from collections.abc import Mapping
from typing import Any

from streamapp_core.deployment import kubernetes_names as names
from streamapp_systems.kubernetes.kubernetes_api import Object

_VARIABLE = "_SPARK_AUTH_SECRET"
"""Spark's own. Executors can't begin with a file: they read one only where they know that they are on Kubernetes."""


def complete_template(template: Mapping[str, Any], owner: Object | None, secret: Mapping[str, str]) -> Object:
    """Return the template with the pod that owns executors, and the item of a secret that it shares with them.

    The processor's container alone refers to the secret. Without one Spark adds it if it knows the driver by name:
    then it waits a second for the driver to be ready, which can't be ready without executors.
    """
    owners = [] if owner is None else [{**refer_to_pod(owner), "controller": True}]
    shared = {"name": _VARIABLE, "valueFrom": {"secretKeyRef": dict(secret)}}
    containers = [
        {**container, "env": [*_others(container), shared]}
        if container["name"] == names.PROCESSOR_CONTAINER
        else container
        for container in template["spec"]["containers"]
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **template,
        "metadata": {**template["metadata"], "ownerReferences": owners},
        "spec": {**template["spec"], "containers": containers},
    }


def refer_to_pod(pod: Object) -> dict[str, Any]:
    """Return the reference to a pod as an owner."""
    return {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def _others(container: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [variable for variable in container.get("env", ()) if variable["name"] != _VARIABLE]
