"""A Kubernetes API server in memory, as far as StreamApp uses one: versions, preconditions, owners, finalizers, pods
that take a while to go.
"""

import itertools
import json
import threading
from collections import Counter

from streamapp_systems.kubernetes.kubernetes_api import (
    Kind,
    ObjectExistsError,
    ObjectNotFoundError,
    RequestRefusedError,
    VersionConflictError,
)


class MemoryCluster:
    """See `KubernetesApi`. `listeners` hear of every change, as a watch would; `now` gives the time as text.

    With `refused_pods` no pod is admitted, and that is why.
    """

    def __init__(self, now=lambda: "2025-01-01T00:00:00Z"):
        self.objects = {}
        self.listeners = []
        self.writes = Counter()
        self.refused_pods = None
        self._now = now
        self._versions = itertools.count(1)
        self._lock = threading.RLock()

    def get(self, kind, namespace, name):
        with self._lock:
            return copied(self.objects.get((kind, namespace, name)))

    def list(self, kind, namespace, selector="", *, fields=""):
        with self._lock:
            return [
                copied(item)
                for (k, ns, _), item in sorted(self.objects.items(), key=lambda entry: (entry[0][1] or "", entry[0][2]))
                if k is kind
                and namespace in (None, ns)
                and fits(selector, item["metadata"].get("labels", {}))
                and has_fields(item, fields)
            ]

    def iterate(self, kind, namespace, selector=""):
        return iter(self.list(kind, namespace, selector))

    def create(self, kind, body, *, dry_run=False):
        with self._lock:
            metadata = body["metadata"]
            key = (kind, metadata["namespace"], metadata["name"])
            if key in self.objects:
                raise ObjectExistsError(f"{kind.plural} {metadata['name']!r} already exists")
            if kind is Kind.POD and self.refused_pods:
                raise RequestRefusedError(self.refused_pods)
            if dry_run:
                return copied(body)
            self.writes["create", kind] += 1
            item = copied(body)
            uid = metadata.get("uid") or f"{kind.plural}-{metadata['name']}-{len(self.writes)}-{next(self._versions)}"
            item["metadata"] |= {"uid": uid, "creationTimestamp": self._now()}
            if kind is Kind.APP:
                item["metadata"]["generation"] = 1
            return self._store(key, item, "ADDED")

    def replace(self, kind, body):
        with self._lock:
            metadata = body["metadata"]
            key = (kind, metadata["namespace"], metadata["name"])
            before = self._found(key)
            self._check(before, metadata.get("resourceVersion"))
            if before.get("immutable") and before.get("data") != body.get("data"):
                raise RequestRefusedError("field is immutable")
            if before.get("roleRef") != body.get("roleRef"):
                raise RequestRefusedError("cannot change roleRef")
            self.writes["replace", kind] += 1
            item = copied(body)
            item["metadata"] = {**item["metadata"], "uid": before["metadata"]["uid"]}
            return self._store(key, item, "MODIFIED")

    def patch(self, kind, namespace, name, body, *, status=False):
        with self._lock:
            key = (kind, namespace, name)
            before = self._found(key)
            self._check(before, body.get("metadata", {}).get("resourceVersion"))
            item = merged(before, {"status": body["status"]} if status else body)
            if item == before:
                return copied(before)
            self.writes["patch", kind] += 1
            if kind is Kind.APP and item.get("spec") != before.get("spec"):
                item["metadata"]["generation"] = before["metadata"]["generation"] + 1
            return self._store(key, item, "MODIFIED")

    def delete(self, kind, namespace, name, *, uid=None, version=None):
        with self._lock:
            key = (kind, namespace, name)
            item = self.objects.get(key)
            if item is None:
                return
            self._check(item, version)
            if uid is not None and item["metadata"]["uid"] != uid:
                raise VersionConflictError(f"the UID of {name} is another one")
            self.writes["delete", kind] += 1
            if "deletionTimestamp" in item["metadata"]:
                return
            waits = item["metadata"].get("finalizers") or (kind is Kind.POD and item["spec"].get("nodeName"))
            if waits:
                item = copied(item)
                item["metadata"]["deletionTimestamp"] = self._now()
                self._store(key, item, "MODIFIED")
            else:
                self.remove(*key)

    def remove(self, kind, namespace, name):
        """Remove an object at once, and the objects that it owns."""
        with self._lock:
            item = self.objects.pop((kind, namespace, name), None)
            if item is None:
                return
            item["metadata"]["resourceVersion"] = str(next(self._versions))
            self._tell("DELETED", kind, item)
            for k, ns, owned in [key for key, other in self.objects.items() if owns(item, other)]:
                self.remove(k, ns, owned)

    def change(self, kind, namespace, name, **fields):
        """Change an object as others would: the user, the kubelet."""
        return self.patch(kind, namespace, name, fields)

    def respecify(self, namespace, name, spec):
        """Change the spec of an app, as the user would."""
        with self._lock:
            key = (Kind.APP, namespace, name)
            item = copied(self._found(key))
            if item["spec"] != spec:
                item["metadata"]["generation"] += 1
                self._store(key, {**item, "spec": copied(spec)}, "MODIFIED")

    def _store(self, key, item, change):
        item["metadata"]["resourceVersion"] = str(next(self._versions))
        self.objects[key] = item
        if "deletionTimestamp" in item["metadata"] and key[0] is not Kind.POD and not item["metadata"]["finalizers"]:
            self.remove(*key)
        else:
            self._tell(change, key[0], item)
        return copied(item)

    def _tell(self, change, kind, item):
        for listener in self.listeners:
            listener(change, kind, copied(item))

    def _found(self, key):
        if key not in self.objects:
            raise ObjectNotFoundError(f"{key[0].plural} {key[2]!r} not found")
        return self.objects[key]

    @staticmethod
    def _check(item, version):
        if version is not None and version != item["metadata"]["resourceVersion"]:
            raise VersionConflictError("the object has been modified")


def copied(value):
    """Copy JSON, as a wire does."""
    return json.loads(json.dumps(value))


def owns(owner, item):
    return any(ref["uid"] == owner["metadata"]["uid"] for ref in item["metadata"].get("ownerReferences", ()))


def fits(selector, labels):
    return all(_fits_one(part, labels) for part in selector.split(",") if part)


def _fits_one(part, labels):
    if part.startswith("!"):
        return part[1:] not in labels
    name, equals, value = part.partition("=")
    return labels.get(name) == value if equals else name in labels


def merged(item, patch):
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copied(patch)
    result = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return copied(result)


def has_fields(item, selector):
    """Return whether an object has the fields of a selector: `involvedObject.uid=...`."""
    for path, _, wanted in (part.partition("=") for part in selector.split(",") if part):
        value = item
        for name in path.split("."):
            value = value.get(name, {})
        if value != wanted:
            return False
    return True
