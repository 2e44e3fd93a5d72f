"""Apps on a real API server: a shop whose streams are in a log, so that no brokers are needed."""

from copy import deepcopy

from kubernetes import client

SPEC = {
    "image": "registry.invalid/streamapp:1",
    "systems": {"log": {"log": {"path": "/var/lib/log"}}},
    "streams": {
        "orders": {"system": "log", "schema": "item string, amount double", "key": "item", "partitions": 4},
        "totals": {"system": "log", "partitions": 4},
    },
    "operators": [
        {"name": "per-item", "from": "orders", "aggregate": {"by": ["item"], "select": "sum(amount) as amount"}},
        {"name": "sent", "from": "per-item", "sendTo": "totals"},
    ],
    "processors": {"count": 2},
}
_RESOURCE = ("streamapp.dev", "v1alpha1")


class Shop:
    """Makes, changes, reads and deletes apps."""

    def __init__(self, api_client):
        self._apps = client.CustomObjectsApi(api_client)

    def apply(self, namespace, name="shop", **changes):
        body = {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": name},
            "spec": {**deepcopy(SPEC), **changes},
        }
        return self._apps.create_namespaced_custom_object(*_RESOURCE, namespace, "streamapps", body)

    def edit(self, namespace, name="shop", **changes):
        body = {"spec": changes}
        return self._apps.patch_namespaced_custom_object(*_RESOURCE, namespace, "streamapps", name, body)

    def get(self, namespace, name="shop"):
        return self._apps.get_namespaced_custom_object(*_RESOURCE, namespace, "streamapps", name)

    def all(self, namespace):
        return self._apps.list_namespaced_custom_object(*_RESOURCE, namespace, "streamapps")["items"]

    def delete(self, namespace, name="shop"):
        self._apps.delete_namespaced_custom_object(*_RESOURCE, namespace, "streamapps", name)

    def condition(self, namespace, kind, name="shop"):
        """Return status and reason of a condition; None as long as there is none."""
        found = self.get(namespace, name).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"]) for c in found if c["type"] == kind), None)
