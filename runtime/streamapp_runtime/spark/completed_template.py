"""The pod template of executors, as the Kubernetes operator wrote it, with what only their driver knows."""

from collections.abc import Mapping
from typing import Any

from streamapp_core.deployment import kubernetes_names as names
from streamapp_systems.kubernetes.kubernetes_api import Object

_VARIABLE = "_SPARK_AUTH_SECRET"
"""Spark's own. Executors can't begin with a file: they read one only where they know that they are on Kubernetes."""


def complete_template(template: Mapping[str, Any], driver: Object, secret: Mapping[str, str]) -> Object:
    """Return the template with the driver's pod as the owner, and the item of a secret that it shares with executors.

    The processor's container alone refers to the secret. Spark would name the owner itself if it were told its name;
    but it waits a second, then, for a driver to be ready that can't be ready without executors.
    """
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
        "metadata": {**template["metadata"], "ownerReferences": [{**refer_to_pod(driver), "controller": True}]},
        "spec": {**template["spec"], "containers": containers},
    }


def refer_to_pod(pod: Object) -> dict[str, Any]:
    """Return the reference to a pod as an owner."""
    return {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def _others(container: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [variable for variable in container.get("env", ()) if variable["name"] != _VARIABLE]
