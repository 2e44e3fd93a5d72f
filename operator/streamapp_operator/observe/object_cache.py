"""The cache of the objects of all apps, as watches show them and as our own writes have left them.

A watch lags behind our writes. So the answer to each write is cached, too, and versions older than the cached one are
dropped: resource versions rise. No decision needs a listing.
"""

import sys
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from streamapp_core.deployment.kubernetes_names import APP_LABEL, SHARD_LABEL
from streamapp_core.job_model.job_model_shards import SHARD_PREFIX
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, Object

WATCHED = {
    Kind.APP: "",
    Kind.POD: APP_LABEL,
    Kind.CONFIG_MAP: f"{APP_LABEL},!{SHARD_LABEL}",
    Kind.SERVICE: APP_LABEL,
    Kind.SERVICE_ACCOUNT: APP_LABEL,
    Kind.ROLE_BINDING: APP_LABEL,
    Kind.NETWORK_POLICY: APP_LABEL,
}
"""The kinds that are watched, with their label selectors."""

_METADATA_ONLY = (Kind.SERVICE, Kind.SERVICE_ACCOUNT, Kind.NETWORK_POLICY)
"""Kinds of which only the metadata is read: whether they are there, of which app, with which annotations."""

_MAXIMUM_REMOVED = 10_000
_LONGEST_SHARED = 63
"""Characters of a text that objects share: names, labels, words of Kubernetes."""
_MAXIMUM_SHARDS = 64
"""Shards are named by their content, so one that we have written need not be read."""


def find_app_key(kind: Kind, item: Object) -> AppKey:
    """Return the key of the app that an object belongs to."""
    metadata = item["metadata"]
    name = metadata["name"] if kind is Kind.APP else metadata["labels"][APP_LABEL]
    return AppKey(namespace=metadata["namespace"], name=name)


class ObjectCache:
    """The newest known state of every watched object, by app."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._apps: defaultdict[AppKey, dict[tuple[Kind, str], Object]] = defaultdict(dict)
        self._removed: OrderedDict[str, None] = OrderedDict()

    def put(self, kind: Kind, item: Object) -> bool:
        """Cache an object; return False if it is outdated."""
        if self.is_outdated(kind, item):
            return False
        compact = _compact(kind, item)
        with self._lock:
            if self._is_outdated(kind, item):
                return False
            self._apps[find_app_key(kind, item)][kind, item["metadata"]["name"]] = compact
            return True

    def is_outdated(self, kind: Kind, item: Object) -> bool:
        """Return whether the cached version of an object is as new, or the object was removed."""
        with self._lock:
            return self._is_outdated(kind, item)

    def _is_outdated(self, kind: Kind, item: Object) -> bool:
        metadata = item["metadata"]
        if metadata["uid"] in self._removed:
            return True
        known = self._apps.get(find_app_key(kind, item), {}).get((kind, metadata["name"]))
        return known is not None and int(known["metadata"]["resourceVersion"]) >= int(metadata["resourceVersion"])

    def remove(self, kind: Kind, item: Object) -> None:
        """Remove an object from the cache; another one of its name stays."""
        metadata = item["metadata"]
        key = find_app_key(kind, item)
        with self._lock:
            self._removed[metadata["uid"]] = None
            if len(self._removed) > _MAXIMUM_REMOVED:
                self._removed.popitem(last=False)
            objects = self._apps[key]
            known = objects.get((kind, metadata["name"]))
            if known is not None and known["metadata"]["uid"] == metadata["uid"]:
                del objects[kind, metadata["name"]]
            if not objects:
                del self._apps[key]

    def list_objects(self, key: AppKey) -> Mapping[tuple[Kind, str], Object]:
        """Return all objects of an app, by kind and name."""
        with self._lock:
            return dict(self._apps.get(key, ()))

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object of an app whose name begins with the app's, or None."""
        key = AppKey(namespace=namespace, name=name.partition(".")[0])
        with self._lock:
            return self._apps.get(key, {}).get((kind, name))

    def list_apps(self) -> Sequence[AppKey]:
        """Return the keys of all apps that have objects."""
        with self._lock:
            return list(self._apps)

    def list_kind(self, kind: Kind) -> Sequence[Object]:
        """Return all objects of a kind."""
        with self._lock:
            return [item for objects in self._apps.values() for (k, _), item in objects.items() if k is kind]


def _compact(kind: Kind, item: Object) -> Object:
    """Return an object without what nobody reads; the managers of its fields alone are half of its size."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    kept: Object = {"metadata": metadata} if kind in _METADATA_ONLY else {**item, "metadata": metadata}
    return cast("Object", _share_texts(kept))


def _share_texts(value: object) -> object:
    """Return JSON whose keys and short texts are shared with all other objects."""
    if isinstance(value, dict):
        return {sys.intern(key): _share_texts(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_share_texts(entry) for entry in value]
    return sys.intern(value) if isinstance(value, str) and len(value) <= _LONGEST_SHARED else value


class CachedApi:
    """A `KubernetesApi` whose writes are in the cache at once; ConfigMaps are read from the cache."""

    def __init__(self, api: KubernetesApi, cache: ObjectCache) -> None:
        self._api = api
        self._cache = cache
        self._shards: OrderedDict[tuple[str, str], Object] = OrderedDict()

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """See `KubernetesApi.get`; ConfigMaps come from the cache."""
        if kind is not Kind.CONFIG_MAP or namespace is None:
            return self._api.get(kind, namespace, name)
        if f".{SHARD_PREFIX}" not in name:
            return self._cache.find(kind, namespace, name)
        return self._shards.get((namespace, name)) or self._api.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None, selector: str = "", *, fields: str = "") -> Sequence[Object]:
        """See `KubernetesApi.list`."""
        return self._api.list(kind, namespace, selector, fields=fields)

    def create(self, kind: Kind, body: Object, *, dry_run: bool = False) -> Object:
        """See `KubernetesApi.create`."""
        if dry_run:
            return self._api.create(kind, body, dry_run=True)
        item = self._cache_answer(kind, self._api.create(kind, body))
        metadata = item["metadata"]
        if SHARD_LABEL in metadata.get("labels", {}):
            self._shards[metadata["namespace"], metadata["name"]] = item
            if len(self._shards) > _MAXIMUM_SHARDS:
                self._shards.popitem(last=False)
        return item

    def replace(self, kind: Kind, body: Object) -> Object:
        """See `KubernetesApi.replace`."""
        return self._cache_answer(kind, self._api.replace(kind, body))

    def patch(self, kind: Kind, namespace: str | None, name: str, body: Object, *, status: bool = False) -> Object:
        """See `KubernetesApi.patch`."""
        return self._cache_answer(kind, self._api.patch(kind, namespace, name, body, status=status))

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, version: str | None = None
    ) -> None:
        """See `KubernetesApi.delete`; the object leaves the cache when the watch reports its end."""
        self._api.delete(kind, namespace, name, uid=uid, version=version)

    def _cache_answer(self, kind: Kind, item: Object) -> Object:
        labels = item["metadata"].get("labels", {})
        if kind is Kind.APP or (kind in WATCHED and APP_LABEL in labels and SHARD_LABEL not in labels):
            with suppress(KeyError):
                self._cache.put(kind, item)
        return item
